"""The wording of everything the local reasoner says itself, Vietnamese and English."""

from collections.abc import Sequence

from app.domain.knowledge import Language

TAKEN_FROM: dict[Language, str] = {"vi": "Trích từ {titles}.", "en": "Taken from {titles}."}
NOTHING_FROM: dict[Language, str] = {
    "vi": "Không có tài liệu nào trong phạm vi được xem trả lời câu hỏi này.",
    "en": "No document within reach answers this question.",
}
ACCORDING_TO: dict[Language, str] = {"vi": "Theo {titles}:", "en": "According to {titles}:"}
_AND: dict[Language, str] = {"vi": " và ", "en": " and "}
_OR: dict[Language, str] = {"vi": " hoặc ", "en": " or "}


def quoted(title: str) -> str:
    """A document title in quotation marks."""
    return f"“{title}”"


def listed(items: Sequence[str], language: Language, *, alternative: bool = False) -> str:
    """``a, b và c``; with `alternative` ``a, b hoặc c``."""
    word = (_OR if alternative else _AND)[language]
    return word.join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def titles_of(titles: Sequence[str], language: Language) -> str:
    """Document titles as they stand in a sentence."""
    return listed([quoted(title) for title in titles], language)


COMPOSED: dict[Language, dict[str, str]] = {
    "vi": {
        "according_to": "Theo “{title}”:",
        "computed": "Tính toán: {text}",
        "decided": "Lưu ý: “{loser_title}” nói khác ({loser}); câu trả lời theo “{winner_title}” vì {reason}.",
        "undecided": (
            "Lưu ý: hai tài liệu chưa thống nhất. “{winner_title}”: {winner}. “{loser_title}”: {loser}. "
            "Chưa đủ cơ sở để chọn một bên ({reason}); bạn nên xác nhận với bộ phận ban hành."
        ),
        "missing": "Chưa tìm thấy trong tài liệu bạn được xem: {queries}.",
        "failed": "Agent {agents} chưa trả lời được lúc này nên phần này có thể còn thiếu.",
        "nothing": (
            "Tôi chưa tìm thấy câu trả lời cho “{query}” trong các tài liệu bạn được xem{searched}. "
            "Bạn có thể hỏi trực tiếp bộ phận phụ trách, hoặc nêu rõ hơn tên quy định, đối tượng hay mốc thời gian "
            "để tôi tìm lại."
        ),
        "searched": " (đã tìm ở {agents})",
        "nothing_reason": "Không có đoạn tài liệu nào đủ liên quan để trích dẫn, nên không trả lời phỏng đoán.",
        "preferred": "{preference} Nguồn được theo: “{title}”.",
        "sources": "Câu trả lời trích nguyên văn từ {titles}, là nguồn sát câu hỏi nhất trong các tài liệu được xem.",
        "computed_reason": "Kết quả được tính trực tiếp từ các số liệu trong câu hỏi.",
    },
    "en": {
        "according_to": "According to “{title}”:",
        "computed": "Calculation: {text}",
        "decided": (
            "Note: “{loser_title}” says otherwise ({loser}); the answer follows “{winner_title}” because {reason}."
        ),
        "undecided": (
            "Note: two documents disagree. “{winner_title}”: {winner}. “{loser_title}”: {loser}. "
            "Neither clearly prevails ({reason}); please confirm with the department that issued them."
        ),
        "missing": "Not found in the documents you may read: {queries}.",
        "failed": "The {agents} agent could not answer right now, so this part may be incomplete.",
        "nothing": (
            "I did not find an answer to “{query}” in the documents you may read{searched}. "
            "You can ask the responsible department, or name the rule, the people or the date more exactly "
            "so that I can look again."
        ),
        "searched": " (searched: {agents})",
        "nothing_reason": "No passage bears closely enough on the question to be quoted, and nothing is guessed.",
        "preferred": "{preference} Followed: “{title}”.",
        "sources": "The answer quotes {titles}, the sources closest to the question among the documents you may read.",
        "computed_reason": "The result was computed directly from the figures in the question.",
    },
}  # fmt: skip
"""The sentences of a final answer; {…} are filled in."""
