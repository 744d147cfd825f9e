"""Why something was not fetched: one reason of a closed set, and what a person is told about it."""

from enum import StrEnum

from app.domain.knowledge import Language


class Refusal(StrEnum):
    """Why nothing was fetched."""

    MALFORMED = "malformed"
    """The address is not written the one way that is read."""
    SCHEME = "scheme"
    CREDENTIALS = "credentials"
    IP_LITERAL = "ip_literal"
    """A number, in whatever spelling, stands where a host's name belongs."""
    HOST_NOT_ALLOWED = "host_not_allowed"
    PORT = "port"
    UNRESOLVED = "unresolved"
    PRIVATE_ADDRESS = "private_address"
    """The name leads to an address that is not of the public internet."""
    DOWNGRADE = "downgrade"
    """A redirect from https to http."""
    TOO_MANY_REDIRECTS = "too_many_redirects"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    PROTOCOL = "protocol"
    """What came back is no HTTP response as it should be."""
    HEADERS_TOO_LARGE = "headers_too_large"
    TOO_LARGE = "too_large"
    CONTENT_TYPE = "content_type"
    ENCODING = "encoding"
    TIME_LIMIT = "time_limit"


_PASSING = frozenset((Refusal.UNRESOLVED, Refusal.UNREACHABLE, Refusal.TIME_LIMIT))

_SENTENCES: dict[Refusal, tuple[str, str]] = {
    Refusal.MALFORMED: (
        "The address is not written correctly: {where}",
        "Địa chỉ viết không đúng: {where}",
    ),
    Refusal.SCHEME: (
        "Only http and https addresses are read: {where}",
        "Chỉ đọc được địa chỉ http và https: {where}",
    ),
    Refusal.CREDENTIALS: (
        "Addresses with a user name or password are not read.",
        "Không đọc địa chỉ có kèm tên đăng nhập hoặc mật khẩu.",
    ),
    Refusal.IP_LITERAL: (
        "Addresses that name a number instead of a host are not read: {where}",
        "Không đọc địa chỉ ghi bằng số thay cho tên máy chủ: {where}",
    ),
    Refusal.HOST_NOT_ALLOWED: (
        "{where} is not on the list of sites that may be read; an administrator can add it.",
        "{where} không có trong danh sách trang được phép đọc; quản trị viên có thể thêm vào.",
    ),
    Refusal.PORT: (
        "This port of {where} may not be read.",
        "Không được phép đọc cổng này của {where}.",
    ),
    Refusal.UNRESOLVED: (
        "{where} cannot be found at the moment.",
        "Hiện không tìm thấy {where}.",
    ),
    Refusal.PRIVATE_ADDRESS: (
        "{where} leads into a private network and is not read.",
        "{where} dẫn vào mạng nội bộ nên không được đọc.",
    ),
    Refusal.DOWNGRADE: (
        "{where} leads from a secured to an unsecured address and is not read.",
        "{where} chuyển từ địa chỉ bảo mật sang không bảo mật nên không được đọc.",
    ),
    Refusal.TOO_MANY_REDIRECTS: (
        "{where} leads on too many times.",
        "{where} chuyển hướng quá nhiều lần.",
    ),
    Refusal.UNREACHABLE: (
        "{where} cannot be reached at the moment.",
        "Hiện không kết nối được {where}.",
    ),
    Refusal.TLS: (
        "{where} cannot prove that it is itself (TLS).",
        "{where} không chứng minh được danh tính (TLS).",
    ),
    Refusal.PROTOCOL: (
        "{where} gave an answer that makes no sense.",
        "{where} trả lời không đúng giao thức.",
    ),
    Refusal.HEADERS_TOO_LARGE: (
        "{where} gave an answer that makes no sense.",
        "{where} trả lời không đúng giao thức.",
    ),
    Refusal.TOO_LARGE: (
        "What {where} sent is too large to be read.",
        "Nội dung {where} gửi về quá lớn nên không đọc được.",
    ),
    Refusal.CONTENT_TYPE: (
        "What {where} sent is not a page of text.",
        "Nội dung {where} gửi về không phải trang văn bản.",
    ),
    Refusal.ENCODING: (
        "What {where} sent is packed in a way that is not read.",
        "Nội dung {where} gửi về được nén theo cách không đọc được.",
    ),
    Refusal.TIME_LIMIT: (
        "{where} took too long to answer.",
        "{where} trả lời quá lâu.",
    ),
}
"""English, Vietnamese; `where` is a host, or the address as it was written."""
_SHOWN_CHARS = 120


class FetchRefused(Exception):
    """Nothing was fetched: the guard said no, or the other side did not do what it should."""

    def __init__(self, reason: Refusal, where: str = ""):
        """`where` is the host, or the address as written where there is no host to speak of."""
        super().__init__(f"{reason}: {where[:_SHOWN_CHARS]!a}")
        self.reason = reason
        self.where = where[:_SHOWN_CHARS]

    @property
    def may_pass(self) -> bool:
        """Whether another try may help."""
        return self.reason in _PASSING


def told(refused: FetchRefused, language: Language) -> str:
    """The refusal as a sentence for the asker."""
    english, vietnamese = _SENTENCES[refused.reason]
    where = "".join(sign for sign in refused.where if sign.isprintable()) or "?"
    return (english if language == "en" else vietnamese).format(where=where)
