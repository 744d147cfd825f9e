"""What a person is told about a failure or a warning: what happened, and what to do next. English and Vietnamese."""

from app.ingestion.parsing.outcome import ParseFailure, ParseWarning, WarningCode

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
