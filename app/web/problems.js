// What a refusal of the API is called in the person's language. Its sentences are English; in Vietnamese what its code
// means is told, and the figures of the refusals that the page knows.

import { ApiProblem } from "./client.js";
import { currentLanguage, word } from "./words.js";

export const CODES = {
  AGENT_EXECUTION_FAILED: "Một tác nhân không làm xong việc của mình. Hãy hỏi lại.",
  TOOL_TIMEOUT: "Một công cụ mất quá nhiều thời gian. Hãy hỏi lại.",
  TOOL_FAILED: "Một công cụ bị lỗi. Hãy hỏi lại.",
  PLAN_INVALID: "Không thực hiện được kế hoạch. Hãy hỏi lại bằng cách khác.",
  VALIDATION_FAILED: "Không thực hiện được yêu cầu này như đã nêu.",
  RUN_DEADLINE_EXCEEDED: "Câu hỏi mất quá nhiều thời gian. Hãy hỏi ngắn hơn hoặc chia thành nhiều câu.",
  BUDGET_EXHAUSTED: "Câu hỏi đã dùng hết hạn mức. Hãy hỏi ngắn hơn hoặc chia thành nhiều câu.",
  LLM_UNAVAILABLE: "Không liên lạc được với mô hình ngôn ngữ. Hãy thử lại sau ít phút.",
  DATABASE_UNAVAILABLE: "Cơ sở dữ liệu tạm vắng. Hãy thử lại sau ít phút.",
  DATABASE_UNSAFE: "Máy chủ từ chối trả lời vì cơ sở dữ liệu không tách được các công ty. Hãy báo quản trị viên.",
  PERMISSION_DENIED: "Bạn không có quyền làm việc này.",
  UNAUTHENTICATED: "Bạn chưa đăng nhập hoặc phiên đã hết. Hãy đăng nhập lại.",
  NOT_FOUND: "Không có mục này, hoặc bạn không có quyền xem.",
  CONFLICT_IN_FLIGHT: "Việc này đang được thực hiện hoặc đã có người quyết định.",
  IDEMPOTENCY_MISMATCH: "Yêu cầu này trùng mã với một yêu cầu khác. Hãy gửi lại.",
  PAYLOAD_INVALID: "Nội dung gửi đi không hợp lệ.",
  PAYLOAD_TOO_LARGE: "Nội dung gửi đi quá lớn.",
  RATE_LIMITED: "Bạn gửi quá nhiều yêu cầu. Hãy chờ một lát rồi thử lại.",
  OVERLOADED: "Máy chủ đang quá bận. Hãy chờ một lát rồi thử lại.",
  DOCUMENT_REJECTED: "Không đọc được tệp này. Hãy thử lưu lại tệp hoặc dùng định dạng khác (PDF, DOCX, XLSX, CSV, TXT).",
  TASK_CANCELLED: "Câu hỏi đã bị dừng.",
  INTERNAL: "Máy chủ gặp lỗi. Hãy thử lại sau ít phút.",
};
const KNOWN = [
  [/^query: must have at most (\d+) characters/, "Câu hỏi có thể dài nhất {0} ký tự. Hãy rút gọn, hoặc đính kèm thành tệp."],
  [/^file: the file is empty/, "Tệp rỗng."],
  [/^file: has more than (\d+) bytes/, "Tệp lớn hơn {0} byte. Hãy đính kèm tệp nhỏ hơn."],
  [/^You have (\d+) files attached/, "Bạn đã đính kèm {0} tệp, nhiều nhất có thể. Hãy bỏ bớt một tệp."],
  [/^Your attached files would have more than (\d+) bytes/, "Các tệp đính kèm sẽ vượt quá {0} byte. Hãy bỏ bớt."],
  [/^The name, the password or the code is wrong/, "Tên, mật khẩu hoặc mã xác thực không đúng."],
  [/^Too many tries\. Wait (\d+) seconds/, "Thử quá nhiều lần. Hãy chờ {0} giây, hoặc xin quản trị viên đường dẫn mới."],
  [/^This link was used already/, "Đường dẫn này đã dùng hoặc đã quá hạn. Hãy xin quản trị viên đường dẫn mới."],
  [/^There is an administrator already/, "Đã có quản trị viên: hãy đăng nhập, hoặc xin một đường dẫn."],
  [/^The password needs (\d+)/, "Mật khẩu cần ít nhất {0} ký tự; tốt nhất là vài từ liền nhau."],
  [/^This password is among the first/, "Mật khẩu này quá dễ đoán. Hãy chọn mật khẩu khác."],
  [/^A password must not be the name/, "Mật khẩu không được là tên người hay tên công ty."],
  [/^company: must not be a company of the demo/, "Tên này là của công ty mẫu. Hãy chọn tên khác."],
  [/^There is a user of this name already/, "Đã có người dùng tên này."],
  [/^There is no (?:demo )?user/i, "Không có người dùng này."],
];

// `error` is anything that was thrown by a call of the API.
export function problemWords(error) {
  return error instanceof ApiProblem ? refusalWords(error.code, error.message) : word("offline");
}

// The same for a code and its English sentence.
export function refusalWords(code, detail) {
  if (currentLanguage() === "en") return detail;
  for (const [pattern, told] of KNOWN) {
    const found = pattern.exec(detail);
    if (found) return told.replace("{0}", Number(found[1] ?? 0).toLocaleString("vi-VN"));
  }
  return CODES[code] ?? detail;
}
