"""The few sentences of our own around what models say, in both languages."""

from collections.abc import Sequence

from app.domain.knowledge import Language, Quote

STOPPED: dict[Language, str] = {
    "vi": "Mô hình ngôn ngữ dừng giữa chừng; phần trên chưa trọn vẹn. Trích thẳng từ tài liệu:",
    "en": "The language model stopped in the middle; the text above is not complete. Directly from the documents:",
}
NOTHING: dict[Language, str] = {
    "vi": "Các đoạn tìm được không trả lời câu hỏi này.",
    "en": "The passages found do not answer this question.",
}
_FROM: dict[Language, str] = {"vi": "Theo {titles}.", "en": "From {titles}."}
_WRITTEN: dict[Language, str] = {
    "vi": "Mô hình ngôn ngữ viết câu trả lời từ {titles}, là các nguồn sát câu hỏi nhất trong các tài liệu được xem.",
    "en": "The language model wrote the answer from {titles}, the sources closest to the question among those read.",
}


def source_line(quotes: Sequence[Quote], language: Language) -> str:
    """Where a finding comes from."""
    return _FROM[language].format(titles=_titles(quotes))


def written_from(quotes: Sequence[Quote], language: Language) -> str:
    """Why these sources, for an answer in a model's words."""
    return _WRITTEN[language].format(titles=_titles(quotes))


def _titles(quotes: Sequence[Quote]) -> str:
    return ", ".join(f"“{title}”" for title in dict.fromkeys(quote.passage.title for quote in quotes))
