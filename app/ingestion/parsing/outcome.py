"""How reading a file ends: as a `ParsedFile`, or as `ParseFailed` with one code of a closed set. Nothing in between."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from app.domain.record import Record

MEBIBYTE = 1024 * 1024


class FileKind(StrEnum):
    """The formats that can be read."""

    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    CSV = "csv"
    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"
    EML = "eml"


class DescribedKind(StrEnum):
    """Formats that are described, not read: attached to a question, never brought in as documents."""

    IMAGE = "image"
    ZIP = "zip"


class ParseFailure(StrEnum):
    """Why a file gave no text at all."""

    UNSUPPORTED = "UNSUPPORTED"
    WRONG_TYPE = "WRONG_TYPE"
    """Two formats in one file: readers would disagree on what it says."""
    ENCRYPTED = "ENCRYPTED"
    NO_TEXT = "NO_TEXT"
    DAMAGED = "DAMAGED"
    DTD_FORBIDDEN = "DTD_FORBIDDEN"
    ARCHIVE_BOMB = "ARCHIVE_BOMB"
    ARCHIVE_UNSAFE = "ARCHIVE_UNSAFE"
    TOO_MANY_PAGES = "TOO_MANY_PAGES"
    TOO_MUCH_TEXT = "TOO_MUCH_TEXT"
    TIME_LIMIT = "TIME_LIMIT"
    MEMORY_LIMIT = "MEMORY_LIMIT"
    CRASHED = "CRASHED"


class WarningCode(StrEnum):
    """What a reader of the answer should know about how the text was won."""

    HIDDEN_TEXT_DROPPED = "HIDDEN_TEXT_DROPPED"
    REVIEW_MARKS_DROPPED = "REVIEW_MARKS_DROPPED"
    TEXT_UNDER_IMAGE = "TEXT_UNDER_IMAGE"
    """A scan with an invisible layer of recognised text, which was taken."""
    PAGES_WITHOUT_TEXT = "PAGES_WITHOUT_TEXT"
    PAGES_UNREADABLE = "PAGES_UNREADABLE"
    TRUNCATED_PAGES = "TRUNCATED_PAGES"
    TRUNCATED_SHEETS = "TRUNCATED_SHEETS"
    UNREADABLE_CHARACTERS = "UNREADABLE_CHARACTERS"
    ENCODING_GUESSED = "ENCODING_GUESSED"
    ATTACHMENTS_NOT_READ = "ATTACHMENTS_NOT_READ"


PARTIAL = frozenset(
    {
        WarningCode.PAGES_WITHOUT_TEXT,
        WarningCode.PAGES_UNREADABLE,
        WarningCode.TRUNCATED_PAGES,
        WarningCode.TRUNCATED_SHEETS,
        WarningCode.UNREADABLE_CHARACTERS,
    }
)
"""With one of these, something that a person sees in the file is missing in the text."""


class ParseWarning(Record):
    """One remark on a file that was read."""

    code: WarningCode
    count: int
    """How many times: pieces of text, pages, sheets, characters; see the advice."""
    advice: str
    """English: what happened and what can be done."""
    advice_vi: str
    """The same in Vietnamese."""


class ParsedTable(Record):
    """A table cell by cell, where numbers were not rounded for showing."""

    name: str
    page: int | None = None
    """1-based sheet."""
    header: tuple[str, ...]
    rows: tuple[tuple[int | float | str, ...], ...]
    """As wide as the header; dates are ISO texts."""
    units: tuple[str, ...]
    """Of the numbers of each column, by their format: ``%``, ``đ``, ``$`` or nothing."""
    is_cut: bool = False
    """Whether rows, columns or cells beyond a limit are missing."""


class DescribedFile(Record):
    """What can be said of a file without reading it."""

    kind: DescribedKind
    facts: dict[str, str]
    entries: tuple[tuple[str, int], ...] = ()
    """(name, bytes as declared) of what an archive holds."""


class ParsedFile(Record):
    """What a file says, as Markdown."""

    kind: FileKind
    title: str
    """From the metadata or the first heading; empty when there is neither."""
    text: str
    """Headings as ``#``, tables with their header row, lists; NFC, nothing invisible, lines up to 20,000 long."""
    pages: tuple[int, ...] = ()
    """Where in `text` page, slide or sheet 1, 2, … begins; never falling; empty for formats without pages."""
    warnings: tuple[ParseWarning, ...] = ()
    is_partial: bool = False
    """Whether something visible is missing: unreadable or scanned pages, a limit that was reached."""
    tables: tuple[ParsedTable, ...] = ()
    """Of CSV and XLSX files that were read with their tables."""


@dataclass(frozen=True)
class ParseLimits:
    """What one file may cost. Beyond any of these it ends with the code of that limit."""

    cpu_seconds: int = 20
    wall_seconds: float = 30.0
    memory_bytes: int = 512 * MEBIBYTE
    """Resident memory of the reading process, about 70 MiB of it for the libraries."""
    output_chars: int = 5_000_000
    pages: int = 2_000
    archive_entries: int = 10_000
    inflated_bytes: int = 200 * 1_000_000
    """All parts of an archive that are unpacked, together."""
    sheet_rows: int = 50_000
    sheet_columns: int = 256
    """A longer or wider sheet is cut, and the file is partial."""
    table_cells: int = 0
    """Cells kept beside the text, all tables together; 0 = none are."""

    def as_request(self, kind: FileKind | DescribedKind) -> bytes:
        """What stands in front of the bytes of a file on its way to the process that reads it: one line."""
        return json.dumps([kind, asdict(self)]).encode() + b"\n"


FAILURES: dict[ParseFailure, tuple[str, str]] = {
    ParseFailure.UNSUPPORTED: (
        "This type of file cannot be read. Save it as PDF, DOCX, PPTX, XLSX, CSV, HTML, Markdown, TXT or EML.",
        "Không đọc được loại tệp này. Hãy lưu lại dưới dạng PDF, DOCX, PPTX, XLSX, CSV, HTML, Markdown, TXT hoặc EML.",
    ),
    ParseFailure.WRONG_TYPE: (
        "The file is two formats at once, so readers would see different texts. Export it anew as one format.",
        "Tệp chứa hai định dạng cùng lúc nên nội dung không rõ ràng. Hãy xuất lại thành một định dạng duy nhất.",
    ),
    ParseFailure.ENCRYPTED: (
        "The file needs a password. Save a copy without one.",
        "Tệp được bảo vệ bằng mật khẩu. Hãy lưu một bản không có mật khẩu.",
    ),
    ParseFailure.NO_TEXT: (
        "No readable text was found. If it is a scan, run text recognition (OCR) on it first.",
        "Không tìm thấy chữ nào đọc được. Nếu là bản quét, hãy chạy nhận dạng chữ (OCR) trước.",
    ),
    ParseFailure.DAMAGED: (
        "The file is damaged or incomplete. Open it in the program it was made with, save it anew and try again.",
        "Tệp bị hỏng hoặc không đầy đủ. Hãy mở bằng chương trình đã tạo ra nó, lưu lại rồi thử lần nữa.",
    ),
    ParseFailure.DTD_FORBIDDEN: (
        "The file declares entities of its own (a DTD), which are never resolved. Export it without them.",
        "Tệp khai báo thực thể riêng (DTD), thứ không bao giờ được xử lý. Hãy xuất lại mà không có phần này.",
    ),
    ParseFailure.ARCHIVE_BOMB: (
        "The file unpacks to far more than its size. Save it anew with fewer or smaller parts.",
        "Tệp giải nén ra lớn hơn kích thước của nó quá nhiều. Hãy lưu lại với ít phần hơn hoặc nhỏ hơn.",
    ),
    ParseFailure.ARCHIVE_UNSAFE: (
        "The file holds parts with names or links that leave it. Open it in an office program and save it anew.",
        "Tệp chứa thành phần có tên hoặc liên kết trỏ ra ngoài. Hãy mở bằng chương trình văn phòng và lưu lại.",
    ),
    ParseFailure.TOO_MANY_PAGES: (
        "The file has too many pages. Split it and bring the parts in one by one.",
        "Tệp có quá nhiều trang. Hãy tách ra và đưa từng phần vào.",
    ),
    ParseFailure.TOO_MUCH_TEXT: (
        "The file holds too much text. Split it and bring the parts in one by one.",
        "Tệp chứa quá nhiều chữ. Hãy tách ra và đưa từng phần vào.",
    ),
    ParseFailure.TIME_LIMIT: (
        "Reading the file took too long. Split it, or export it anew in a simpler form.",
        "Đọc tệp mất quá nhiều thời gian. Hãy tách tệp hoặc xuất lại ở dạng đơn giản hơn.",
    ),
    ParseFailure.MEMORY_LIMIT: (
        "Reading the file needs too much memory. Split it, or export it anew in a simpler form.",
        "Đọc tệp cần quá nhiều bộ nhớ. Hãy tách tệp hoặc xuất lại ở dạng đơn giản hơn.",
    ),
    ParseFailure.CRASHED: (
        "The reader broke on this file. Export it anew, for instance by printing it to PDF.",
        "Bộ đọc gặp lỗi với tệp này. Hãy xuất lại, chẳng hạn bằng cách in ra PDF.",
    ),
}

WARNINGS: dict[WarningCode, tuple[str, str]] = {
    WarningCode.HIDDEN_TEXT_DROPPED: (
        "Text that a reader of the file cannot see was left out ({count}). Check why it is there.",
        "Đã bỏ phần chữ mà người đọc tệp không nhìn thấy ({count}). Hãy kiểm tra vì sao có phần này.",
    ),
    WarningCode.REVIEW_MARKS_DROPPED: (
        "Comments and tracked deletions were left out ({count}).",
        "Đã bỏ qua nhận xét và phần chữ đã xoá khi theo dõi thay đổi ({count}).",
    ),
    WarningCode.TEXT_UNDER_IMAGE: (
        "The text of {count} scanned pages comes from an invisible layer of recognised text. Compare it with the scan.",
        "Chữ của {count} trang quét lấy từ lớp nhận dạng vô hình. Hãy đối chiếu với hình ảnh.",
    ),
    WarningCode.PAGES_WITHOUT_TEXT: (
        "{count} pages show only images, without text. Run text recognition (OCR) on the file and bring it in again.",
        "{count} trang chỉ có hình, không có chữ. Hãy chạy nhận dạng chữ (OCR) rồi đưa tệp vào lại.",
    ),
    WarningCode.PAGES_UNREADABLE: (
        "{count} pages could not be read. Export the file anew and bring it in again.",
        "Không đọc được {count} trang. Hãy xuất lại tệp rồi đưa vào lại.",
    ),
    WarningCode.TRUNCATED_PAGES: (
        "The last {count} pages were not read, because time or text ran out. Split the file.",
        "{count} trang cuối chưa được đọc vì hết thời gian hoặc quá nhiều chữ. Hãy tách tệp.",
    ),
    WarningCode.TRUNCATED_SHEETS: (
        "{count} sheets were longer or wider than what is read. Split the file.",
        "{count} trang tính dài hoặc rộng hơn mức được đọc. Hãy tách tệp.",
    ),
    WarningCode.UNREADABLE_CHARACTERS: (
        "{count} characters could not be made out. Save the file as UTF-8, or export it anew.",
        "Không nhận ra {count} ký tự. Hãy lưu tệp dưới dạng UTF-8 hoặc xuất lại.",
    ),
    WarningCode.ENCODING_GUESSED: (
        "The file does not say how its characters are encoded; that was guessed. Save it as UTF-8 to be sure.",
        "Tệp không cho biết bảng mã nên bảng mã được phỏng đoán. Hãy lưu dưới dạng UTF-8 để chắc chắn.",
    ),
    WarningCode.ATTACHMENTS_NOT_READ: (
        "{count} attachments are named but not read. Bring them in as files of their own.",
        "{count} tệp đính kèm được nêu tên nhưng chưa được đọc. Hãy đưa vào như những tệp riêng.",
    ),
}


class ParseFailed(Exception):
    """A file gave no text. `code` is for programs, `advice` (English) and `advice_vi` for the person who brought it."""

    def __init__(self, code: ParseFailure, detail: str = ""):
        """`detail` is for the log: what the reader stumbled on; never text of the file."""
        self.code = code
        self.detail = detail
        self.advice, self.advice_vi = FAILURES[code]
        super().__init__(f"{code}: {self.advice}")


def warning(code: WarningCode, count: int) -> ParseWarning:
    """The remark in both languages."""
    english, vietnamese = (text.format(count=count) for text in WARNINGS[code])
    return ParseWarning(code=code, count=count, advice=english, advice_vi=vietnamese)
