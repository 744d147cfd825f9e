"""What the deep mind says, in both languages."""

from app.domain.knowledge import Language

Said = dict[Language, str]

CALCULATE: Said = {"vi": "Tính {expression}", "en": "Calculate {expression}"}
RESEARCH_TOPIC: Said = {"vi": "{topic} {asking}?", "en": "{asking} {topic}?"}
FORMULA_OF: Said = {"vi": "Công thức tính {topic} như thế nào?", "en": "What is the formula for {topic}?"}
HOURLY: Said = {"vi": "Tiền lương một giờ được tính thế nào?", "en": "How is the hourly rate calculated?"}
PERCENT_OF: Said = {
    "vi": "{topic} được trả bao nhiêu phần trăm?", "en": "What rate is paid for {topic}?"
}  # fmt: skip
BY_SENIORITY: Said = {
    "vi": "Số ngày phép năm theo thâm niên làm việc là bao nhiêu?",
    "en": "How many days of annual leave by years of service?",
}
ASKING: dict[Language, dict[str, str]] = {
    "vi": {
        "money": "bao nhiêu tiền", "day": "bao nhiêu ngày", "date": "trong thời hạn bao lâu",
        "%": "bao nhiêu phần trăm",
        "hour": "bao nhiêu giờ", "who": "ai phê duyệt", "": "được quy định thế nào",
    },
    "en": {
        "money": "How much is", "day": "How many days for", "date": "How long is the time limit for",
        "%": "What percentage is",
        "hour": "How many hours for", "who": "Who approves", "": "What are the rules for",
    },
}  # fmt: skip
LOGIC: dict[Language, dict[str, str]] = {
    "vi": {
        "given": "Nêu các số liệu câu hỏi đã cho: {given}.",
        "rule": "Đọc quy tắc áp dụng cho các số liệu đó từ nội dung tìm được.",
        "file": "Đọc dữ liệu trong tệp {files} và lọc đúng các dòng được hỏi.",
        "compute": "Lập phép tính và tính kết quả.", "difference": "Tính chênh lệch giữa các giá trị tìm được.",
        "total": "Cộng các khoản tìm được.", "date": "Tính ngày từ mốc đã cho và thời hạn theo quy tắc.",
        "text": "Chọn câu trả lời từ nội dung tìm được.", "puzzle": "Giải trực tiếp từ dữ kiện của câu hỏi.",
        "form": "Trình bày đúng dạng được yêu cầu: {form}.",
    },
    "en": {
        "given": "List what the question gives: {given}.", "rule": "Read the rule that applies to it from "
            "what was found.",
        "file": "Read the data of {files} and keep the rows that are asked about.",
        "compute": "Set up the calculation and compute it.", "difference": "Take the difference of the values found.",
        "total": "Add up what was found.", "date": "Move the given day by the length of time of the rule.",
        "text": "Choose the answer from what was found.", "puzzle": "Solve it from what the question itself says.",
        "form": "Write the answer in the form asked for: {form}.",
    },
}  # fmt: skip
FOUND_NOTHING: Said = {"vi": "Không tìm thấy thông tin cho: {task}", "en": "Nothing was found for: {task}"}
RULE: Said = {"vi": "Quy tắc ({title}): “{text}”", "en": "Rule ({title}): “{text}”"}
GIVEN: Said = {"vi": "Dữ kiện của câu hỏi: {given}", "en": "Given in the question: {given}"}
CAPPED: Said = {
    "vi": "{value} vượt mức tối đa {cap}, nên lấy {cap}", "en": "{value} is above the maximum of {cap}, so it is {cap}"
}  # fmt: skip
ROUNDED_UP: Said = {"vi": "làm tròn lên thành {value}", "en": "rounded up to {value}"}
SENTENCE: Said = {"vi": "Kết quả: {answer}.", "en": "The answer is {answer}."}
BECAUSE: Said = {"vi": "Cách tính: {working}.", "en": "Working: {working}."}
MISSING: Said = {
    "vi": "Chưa tính được vì thiếu: {missing}.", "en": "This cannot be worked out; missing: {missing}."
}  # fmt: skip
NO_RULE: Said = {
    "vi": "Chưa tính được: nội dung tìm được không nêu quy tắc hoặc số liệu nào trả lời câu hỏi này.",
    "en": "This cannot be worked out: nothing that was found states a rule or a figure that answers the question.",
}
TOOL_FAILED: Said = {"vi": "Công cụ không làm được: {reason}", "en": "The tool could not do it: {reason}"}
NO_ANSWER: Said = {
    "vi": "Tôi không tìm được câu trả lời chắc chắn. {why}", "en": "I could not find a reliable answer. {why}"
}  # fmt: skip
CAUSES: dict[Language, dict[str, str]] = {
    "vi": {
        "plan": "Không lập được kế hoạch phù hợp.", "research": "Không tìm được thông tin cần thiết.",
        "expert": "Không có cách tính nào đứng vững khi kiểm tra lại.", "deadline": "Hết thời gian.",
        "budget": "Hết hạn mức sử dụng.",
    },
    "en": {
        "plan": "No plan that fits could be made.", "research": "What is needed could not be found.",
        "expert": "No working stood up to being checked.", "deadline": "Time ran out.", "budget": "The budget ran out.",
    },
}  # fmt: skip
TRACE: dict[Language, dict[str, str]] = {
    "vi": {
        "question": "Câu hỏi: {text}", "plan": "Kế hoạch: {text}", "no_research": "Không cần tìm thêm thông tin.",
        "research": "Bước {step}: {task} → {text}", "nothing": "không tìm thấy", "working": "Suy luận: {text}",
        "rejected": "Bị trả lại ({of}): {text}", "answer": "Trả lời: {text}", "none": "Không có câu trả lời: {text}",
    },
    "en": {
        "question": "Question: {text}", "plan": "Plan: {text}", "no_research": "No research is needed.",
        "research": "Step {step}: {task} → {text}", "nothing": "nothing was found", "working": "Reasoning: {text}",
        "rejected": "Sent back ({of}): {text}", "answer": "Answer: {text}", "none": "No answer: {text}",
    },
}  # fmt: skip
FEEDBACK: dict[Language, dict[str, str]] = {
    "vi": {
        "no_research": "Câu hỏi cần quy định của công ty: hãy thêm bước tìm “{topic}”.",
        "needless": "Không có công cụ nào để tìm thông tin: chỉ dùng dữ kiện có sẵn.",
        "too_many": "Quá nhiều bước tìm: chỉ giữ {most} bước.",
        "not_found": "Chưa tìm thấy; hãy hỏi lại bằng từ khác: {terms}.",
        "off_topic": "Đoạn tìm được không nói về {terms}; hãy tìm lại.",
        "unsolved": "Chưa có đáp số: {why}",
        "wrong_sum": "Tính lại {expression} ra {value}, không phải {answer}.",
        "ungrounded": "Số {operand} không có trong câu hỏi hay nội dung tìm được.",
        "wrong_unit": "Câu hỏi cần {wanted}, đáp án lại là {given}.",
        "form": "Đáp án phải có dạng: {form}.", "nothing": "Đáp án trống.",
    },
    "en": {
        "no_research": "The question needs a rule of the company: add a step that finds “{topic}”.",
        "needless": "There is no tool to find anything with: use what is given only.",
        "too_many": "Too many research steps: keep {most}.",
        "not_found": "Nothing was found; ask again in other words: {terms}.",
        "off_topic": "What was found does not speak of {terms}; search again.",
        "unsolved": "There is no result yet: {why}",
        "wrong_sum": "Computed again, {expression} is {value}, not {answer}.",
        "ungrounded": "The number {operand} stands neither in the question nor in what was found.",
        "wrong_unit": "The question asks for {wanted}, the answer gives {given}.",
        "form": "The answer must have this form: {form}.", "nothing": "The answer is empty.",
    },
}  # fmt: skip
