// The page's words in both languages, and the little that turns values into words.

const WORDS = {
  vi: {
    skip: "Tới ô đặt câu hỏi", sessions: "Hội thoại", signOut: "Đăng xuất", switchLanguage: "Switch to English",
    theme: "Đổi nền sáng/tối", signIn: "Đăng nhập", signInHint: "Chọn một người dùng mẫu, hoặc dán mã truy cập của bạn.",
    noDemo: "Máy chủ này không có người dùng mẫu. Hãy dán mã truy cập của bạn.", pasteToken: "Mã truy cập (JWT)",
    useToken: "Dùng mã này", newSession: "+ Hội thoại mới", more: "Xem thêm", apiDocs: "Tài liệu API",
    welcome: "Bạn muốn hỏi gì?", welcomeHint: "Các phòng ban trả lời từ những tài liệu mà bạn được phép đọc, kèm bằng chứng.",
    yourQuestion: "Câu hỏi của bạn", ask: "Hỏi", stop: "Dừng", plan: "Kế hoạch", tier: "Bậc", noPlan: "Đang phân tích câu hỏi…",
    evidence: "Bằng chứng", relevance: "độ liên quan", confidence: "độ tin cậy", reasons: "Lý do", conflicts: "Mâu thuẫn đã xử lý", degraded: "Làm theo cách đơn giản hơn",
    flow: "Diễn biến", followUps: "Hỏi tiếp", remove: "Xoá", removeAsk: "Xoá hội thoại này?", wins: "thắng", over: "so với",
    expired: "Phiên đăng nhập đã hết. Hãy đăng nhập lại.", lost: "Mất kết nối; đang nối lại…", offline: "Không nối được với máy chủ.",
    stopped: "Đã dừng theo yêu cầu.", failed: "Không hoàn thành được câu hỏi này.", partial: "Kết quả từng phòng ban", undecided: "chưa ngã ngũ", later_version: "bản mới hơn thay bản cũ", validity: "bên kia đã hết hiệu lực",
    outcome: { answered: "Đã trả lời", partial: "Trả lời một phần", conflict: "Nguồn mâu thuẫn", not_found: "Không tìm thấy", chitchat: "Trò chuyện", refused: "Từ chối", failed: "Lỗi", cancelled: "Đã dừng" },
    status: { pending: "đang chờ", in_progress: "đang chạy", completed: "xong", failed: "lỗi", cancelled: "đã dừng" },
    scope: { public: "công khai", internal: "nội bộ", private: "riêng của phòng" },
    starters: ["giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không", "Tính toán chi phí nghỉ phép và so sánh với chính sách công ty", "Quên mật khẩu VPN thì phải làm gì?"],
  },
  en: {
    skip: "Go to the question box", sessions: "Conversations", signOut: "Sign out", switchLanguage: "Chuyển sang tiếng Việt",
    theme: "Light or dark", signIn: "Sign in", signInHint: "Choose a demo user, or paste your access token.",
    noDemo: "This server has no demo users. Paste your access token.", pasteToken: "Access token (JWT)",
    useToken: "Use this token", newSession: "+ New conversation", more: "More", apiDocs: "API documentation",
    welcome: "What would you like to know?", welcomeHint: "The departments answer from documents you may read, with their evidence.",
    yourQuestion: "Your question", ask: "Ask", stop: "Stop", plan: "Plan", tier: "Tier", noPlan: "Reading the question…",
    evidence: "Evidence", relevance: "relevance", confidence: "confidence", reasons: "Reasons", conflicts: "Conflicts settled", degraded: "Done in a simpler way",
    flow: "What happened", followUps: "Ask next", remove: "Delete", removeAsk: "Delete this conversation?", wins: "holds", over: "over",
    expired: "You were signed out. Please sign in again.", lost: "Connection lost; reconnecting…", offline: "The server cannot be reached.",
    stopped: "Stopped as you asked.", failed: "This question could not be finished.", partial: "Results by department", undecided: "undecided", later_version: "the later version replaces the earlier one", validity: "the other one is no longer in force",
    outcome: { answered: "Answered", partial: "Partly answered", conflict: "Sources disagree", not_found: "Not found", chitchat: "Small talk", refused: "Refused", failed: "Failed", cancelled: "Stopped" },
    status: { pending: "waiting", in_progress: "running", completed: "done", failed: "failed", cancelled: "stopped" },
    scope: { public: "public", internal: "internal", private: "department only" },
    starters: ["How many days of annual leave do I have?", "What happens when I am late to work?", "I forgot my VPN password, what now?"],
  },
};

let language = localStorage.getItem("conclave.language")
  || (navigator.language && !navigator.language.toLowerCase().startsWith("vi") ? "en" : "vi");

export const currentLanguage = () => language;

export function word(key) {
  return WORDS[language][key] ?? key;
}

export function wordIn(group, key) {
  return WORDS[language][group]?.[key] ?? key;
}

export function setLanguage(next) {
  language = next === "en" ? "en" : "vi";
  localStorage.setItem("conclave.language", language);
  document.documentElement.lang = language;
}

export function applyWords(root = document) {
  for (const node of root.querySelectorAll("[data-text]")) node.textContent = word(node.dataset.text);
  for (const node of root.querySelectorAll("[data-label]")) node.setAttribute("aria-label", word(node.dataset.label));
  for (const node of root.querySelectorAll("[data-placeholder]")) node.placeholder = word(node.dataset.placeholder);
}

export function dateWords(iso) {
  const moment = new Date(iso);
  return Number.isNaN(moment.getTime()) ? "" : moment.toLocaleDateString(language === "vi" ? "vi-VN" : "en-GB");
}

export function percent(share) {
  return `${Math.round(100 * share)} %`;
}
