"""What is said when a language model declines: in one place, because planning and composing may both meet it."""

from app.domain.knowledge import Language

REFUSED: dict[Language, str] = {
    "vi": "Mô hình ngôn ngữ từ chối xử lý câu hỏi này nên không có câu trả lời. Hãy thử diễn đạt lại, hoặc hỏi trực"
    " tiếp phòng ban phụ trách.",
    "en": "The language model declined to work on this question, so there is no answer. Please put it in other words,"
    " or ask the department in charge.",
}
