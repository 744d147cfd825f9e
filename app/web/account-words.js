// The words of passwords, links and the own account; fetched where somebody signs in or looks at the account.

import { currentLanguage, word } from "./words.js";

const EN = {
  userName: "User name", password: "Password", code: "Code (if you have switched codes on)", codeHint: "Six digits, from your authenticator app.", enter: "Sign in",
  welcomeTo: "Welcome to Conclave at {company}", linkHint: "{name}, choose a password. This link works once.", linkGone: "This link was used already, or is too old. Ask your administrator for a new one.",
  first: "Set up your own company", firstHint: "You become its administrator and invite the others. From then on the demo users cannot sign in any more. Your own documents are brought in on the administration pages.",
  company: "Company, in short", companyHint: "Small letters a–z, digits, - and _: it stands before names, as in “company/lan”.", userHint: "What you sign in with: a name or an e-mail address.", fullName: "Full name",
  newPassword: "New password", passwordHint: "At least 12 characters; several words are best.", again: "The same once more", notSame: "The two passwords are not the same.", setPassword: "Set the password and sign in", begin: "Begin",
  account: "My account", noPassword: "You sign in at your company's provider: your password and codes are kept there.", change: "Change the password", present: "Present password",
  changed: "The password was changed. Your other sign-ins have ended.", save: "Save", codes: "Codes of an authenticator app", codesOff: "Beside the password a code is asked for that an app on your phone shows. Whoever learns your password does not get in with it.",
  codesOn: "A code is asked for at every sign-in. If you lose the app, an administrator gives you a link for a new password, which switches codes off.", codesBegin: "Switch on",
  codesSecret: "Type this key into your app, or open the address on the phone that has it; then enter the code it shows.", codesOpen: "Open in the app", codeShown: "Code the app shows", codesConfirm: "Ask for codes from now on", codesEnd: "Switch off",
  codesAreOn: "Codes are asked for from now on.", codesAreOff: "Codes are not asked for any more.",
};
const VI = {
  userName: "Tên đăng nhập", password: "Mật khẩu", code: "Mã xác thực (nếu bạn đã bật)", codeHint: "Sáu chữ số, trong ứng dụng xác thực.", enter: "Đăng nhập",
  welcomeTo: "Chào mừng đến với Conclave của {company}", linkHint: "{name}, hãy đặt mật khẩu. Đường dẫn này chỉ dùng được một lần.", linkGone: "Đường dẫn này đã dùng hoặc đã quá hạn. Hãy xin quản trị viên đường dẫn mới.",
  first: "Lập công ty của bạn", firstHint: "Bạn sẽ là quản trị viên và mời những người khác. Từ đó người dùng mẫu không đăng nhập được nữa. Tài liệu của công ty được đưa vào ở các trang quản trị.",
  company: "Tên ngắn của công ty", companyHint: "Chữ thường a–z, chữ số, - và _: đứng trước tên người, như “congty/lan”.", userHint: "Dùng để đăng nhập: một tên hoặc địa chỉ thư điện tử.", fullName: "Họ và tên",
  newPassword: "Mật khẩu mới", passwordHint: "Ít nhất 12 ký tự; tốt nhất là vài từ liền nhau.", again: "Nhập lại lần nữa", notSame: "Hai mật khẩu không giống nhau.", setPassword: "Đặt mật khẩu và đăng nhập", begin: "Bắt đầu",
  account: "Tài khoản của tôi", noPassword: "Bạn đăng nhập qua hệ thống của công ty: mật khẩu và mã xác thực ở đó.", change: "Đổi mật khẩu", present: "Mật khẩu hiện tại",
  changed: "Đã đổi mật khẩu. Các phiên đăng nhập khác của bạn đã kết thúc.", save: "Lưu", codes: "Mã của ứng dụng xác thực", codesOff: "Ngoài mật khẩu còn hỏi mã do ứng dụng trên điện thoại hiện ra. Ai biết mật khẩu của bạn cũng không vào được.",
  codesOn: "Mỗi lần đăng nhập đều hỏi mã. Nếu mất ứng dụng, quản trị viên sẽ đưa bạn đường dẫn đặt lại mật khẩu; khi đó mã được tắt.", codesBegin: "Bật",
  codesSecret: "Nhập khoá này vào ứng dụng, hoặc mở địa chỉ trên điện thoại có ứng dụng; rồi nhập mã mà nó hiện ra.", codesOpen: "Mở trong ứng dụng", codeShown: "Mã ứng dụng hiện ra", codesConfirm: "Từ nay hỏi mã", codesEnd: "Tắt",
  codesAreOn: "Từ nay sẽ hỏi mã.", codesAreOff: "Không hỏi mã nữa.",
};
export const ALL = { EN, VI };

// A word of these pages with `{name}` filled in; of the chat page where these have none.
export function accountWord(key, values = {}) {
  const text = (currentLanguage() === "vi" ? VI : EN)[key];
  return text === undefined ? word(key, values) : text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
