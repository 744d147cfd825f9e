"""What is said where a model stopped in the middle of an answer, in both languages."""

from app.domain.knowledge import Language

STOPPED: dict[Language, str] = {
    "vi": "Mô hình ngôn ngữ dừng giữa chừng; phần trên chưa trọn vẹn. Trích thẳng từ tài liệu:",
    "en": "The language model stopped in the middle; the text above is not complete. Directly from the documents:",
}
