// The words of the desk in both languages, beside those it shares with the chat page.

import { applyWords, currentLanguage, word } from "./words.js";

export const WORDS = {
  vi: {
    title: "Bàn tri thức", skip: "Tới nội dung", chat: "Hỏi đáp", signInHint: "Đăng nhập với vai trò owner của phòng ban, hoặc quản trị viên.",
    hint: "Những việc đang chờ người phụ trách tài liệu, mới nhất trước. Chỉ có những gì bạn được đọc, và không có tên người hỏi.",
    notOwner: "Trang này dành cho người phụ trách phòng ban.", notOwnerHint: "Tài khoản của bạn không có vai trò owner. Hãy nhờ quản trị viên cấp vai trò này.", otherUser: "Đăng nhập người khác",
    loading: "Đang tải…", more: "Xem thêm", tryAgain: "Thử lại", failedTo: "Không thực hiện được: {reason}", nothing: "Không có việc nào ở đây.",
    kinds: "Loại việc", all: "Tất cả", states: "Trạng thái", mine: "Giao cho tôi",
    kind: { contradiction: "Mâu thuẫn", ending: "Hiệu lực", correction: "Góp ý sửa", unanswered: "Chưa trả lời được", unused: "Không ai dùng" },
    state: { open: "Đang chờ", done: "Đã xong", dismissed: "Đã bỏ qua" },
    detail: {
      found: "Hai tài liệu nói khác nhau; thấy khi đối chiếu.", told: "Hai tài liệu nói khác nhau; người hỏi đã báo.", expired: "Hết hiệu lực từ sau ngày {day}, chưa có văn bản thay thế.",
      expiring: "Chỉ còn hiệu lực đến ngày {day}, chưa có văn bản thay thế.", old: "Có từ ngày {day}, hơn 18 tháng chưa cập nhật.",
      corrected: "Người hỏi cho rằng câu trả lời dựa trên các tài liệu này chưa đúng.", asked: "{number} người đã hỏi gần giống nhau mà không có câu trả lời.",
      no_agent: "Phòng ban này không có tác tử nào tra cứu: không ai tìm được tài liệu.", not_cited: "Một năm qua không câu trả lời nào dẫn tài liệu này.",
    },
    askedBy: "Câu hỏi của {number} người đã báo", askedByOne: "Câu hỏi của người đã báo", question: "Câu hỏi", shouldSay: "Theo người hỏi, câu trả lời đúng là",
    holds: "Văn bản này đúng", differentCases: "Hai trường hợp khác nhau", noContradiction: "Không mâu thuẫn", take: "Tôi nhận việc", release: "Trả lại", done: "Đã xử lý", dismiss: "Bỏ qua…", reopen: "Mở lại",
    reason: "Vì sao bỏ qua?", confirmDismiss: "Bỏ qua", cancel: "Thôi", assignedTo: "Giao cho {name}", note: "Ghi chú: {reason}", shared: "Một phòng ban khác cũng có phần trong việc này: quản trị viên, hoặc người phụ trách cả hai, sẽ quyết định.",
    askingBefore: "Đang hỏi lại với quyền của bạn, trước khi quyết định…", deciding: "Đang ghi quyết định…", askingAfter: "Đã quyết định. Đang hỏi lại…", saved: "Đã ghi.", askAgain: "Hỏi lại với quyền của tôi",
    before: "Trước", after: "Sau", yours: "Hỏi với quyền của bạn; chỉ bạn thấy.", writeAnswer: "Viết câu trả lời…", answerText: "Câu trả lời", department: "Phòng ban", scopeOf: "Ai được đọc", reviewDay: "Có hiệu lực đến, và phải xem lại trước ngày", sendAnswer: "Gửi",
    writeHint: "Người phụ trách gửi thì chờ quản trị viên đưa vào; quản trị viên gửi thì thành tài liệu ngay. Câu hỏi thành tên tài liệu.", draft: "Câu trả lời đã viết", reviewOn: "xem lại trước {day}", notYet: "Chưa có câu trả lời.",
  },
  en: {
    title: "Knowledge desk", skip: "Go to the content", chat: "Chat", signInHint: "Sign in with the role owner of a department, or as an administrator.",
    hint: "What waits for whoever looks after documents, newest first. Only what you may read, and no name of who asked.",
    notOwner: "This page is for owners of a department.", notOwnerHint: "Your account does not have the role owner. Ask an administrator for it.", otherUser: "Sign in as somebody else",
    loading: "Loading…", more: "More", tryAgain: "Try again", failedTo: "That did not work: {reason}", nothing: "Nothing waits here.",
    kinds: "Kind", all: "All", states: "State", mine: "Assigned to me",
    kind: { contradiction: "Contradiction", ending: "Validity", correction: "Correction", unanswered: "Unanswered", unused: "Unused" },
    state: { open: "Open", done: "Done", dismissed: "Dismissed" },
    detail: {
      found: "Two documents say different things; found by comparing them.", told: "Two documents say different things; somebody who asked told of it.", expired: "It ended on {day} and nothing takes its place.",
      expiring: "It ends on {day} and nothing takes its place.", old: "It dates from {day}: no newer version for 18 months.",
      corrected: "Somebody who asked says that the answer from these documents was wrong.", asked: "{number} people asked nearly the same and got no answer.",
      no_agent: "No agent searches this department: nobody finds the document.", not_cited: "No answer cited this document in the last year.",
    },
    askedBy: "What {number} people asked who told of it", askedByOne: "What was asked by who told of it", question: "Question", shouldSay: "By whoever asked, the answer should be",
    holds: "This one holds", differentCases: "Different cases", noContradiction: "No contradiction", take: "I take it", release: "Give it back", done: "Done", dismiss: "Dismiss…", reopen: "Reopen",
    reason: "Why is it dismissed?", confirmDismiss: "Dismiss", cancel: "Cancel", assignedTo: "Assigned to {name}", note: "Note: {reason}", shared: "Another department has a part in this: an administrator, or whoever owns both, decides.",
    askingBefore: "Asking with your rights, before deciding…", deciding: "Keeping the decision…", askingAfter: "Decided. Asking again…", saved: "Kept.", askAgain: "Ask with my rights",
    before: "Before", after: "After", yours: "Asked with your rights; nobody else sees it.", writeAnswer: "Write an answer…", answerText: "Answer", department: "Department", scopeOf: "Who may read it", reviewDay: "Holds until, and is to be looked at before", sendAnswer: "Send",
    writeHint: "An owner's answer waits for an administrator to bring it in; an administrator's becomes a document at once. The question becomes its title.", draft: "The answer that was written", reviewOn: "to be looked at before {day}", notYet: "There is no answer yet.",
  },
};

// A word of the desk with `{name}` filled in; of the chat page where the desk has none.
export function say(key, values = {}) {
  const text = WORDS[currentLanguage()][key];
  return text === undefined ? word(key, values) : fill(text, values);
}

export const sayIn = (group, key, values = {}) => fill(WORDS[currentLanguage()][group][key] ?? key, values);

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

export function applyDeskWords() {
  applyWords();
  for (const node of document.querySelectorAll("[data-desk]")) node.textContent = say(node.dataset.desk);
  document.title = `Conclave · ${say("title")}`;
}
