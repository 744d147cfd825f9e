"""The few sentences of our own around what models say in the deep flow, in both languages."""

from app.domain.knowledge import Language

NOT_SOLVED: dict[Language, str] = {
    "vi": "Những gì tìm được chưa đủ để trả lời câu hỏi này.",
    "en": "What was found is not enough to answer this question.",
}
UNGROUNDED: dict[Language, str] = {
    "vi": "Các số sau không có trong câu hỏi, kết quả tìm kiếm hay phép tính nào: {figures}. Hãy tra hoặc tính lại.",
    "en": "These figures stand in no question, finding or calculation: {figures}. Look them up or calculate them.",
}
