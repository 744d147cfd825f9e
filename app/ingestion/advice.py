"""What an administrator is told about a document that needs looking after, in both languages."""

from datetime import date

from app.domain.health import Advice, HealthKind, Side

_UNITS = {
    "VND": ("số tiền", "an amount of money"), "GBP": ("số tiền", "an amount of money"),
    "USD": ("số tiền", "an amount of money"), "EUR": ("số tiền", "an amount of money"),
    "percent": ("tỷ lệ phần trăm", "a percentage"), "second": ("số giây", "a number of seconds"),
    "minute": ("số phút", "a number of minutes"), "hour": ("số giờ", "a number of hours"),
    "day": ("số ngày", "a number of days"), "week": ("số tuần", "a number of weeks"),
    "month": ("số tháng", "a number of months"), "year": ("số năm", "a number of years"),
    "time": ("số lần", "how often"), "character": ("số ký tự", "a number of characters"),
    "person": ("số người", "a number of people"), "point": ("số điểm", "a number of points"),
    "km": ("số km", "a distance"), "GB": ("dung lượng", "a size"), "MB": ("dung lượng", "a size"),
    "clock": ("giờ trong ngày", "a time of the day"), "date": ("ngày tháng", "a date"),
    "day of the month": ("ngày trong tháng", "a day of the month"),
    "day of the year": ("ngày trong năm", "a day of the year"),
}  # fmt: skip


_CONTRADICTION = (
    "“{one.title}” ghi {one.value}, “{other.title}” ghi {other.value} ({unit}) về cùng một việc. Hãy kiểm tra văn bản "
    "nào đúng, rồi sửa văn bản kia hoặc ghi rõ nó bị thay thế (supersedes).",
    "“{one.title}” says {one.value} and “{other.title}” says {other.value} ({unit}) about what looks like the same "
    "thing. Check which one holds, then mend the other document or mark it as superseded.",
)
_DUPLICATE = (
    "“{one.title}” và “{other.title}” trùng nhau khoảng {share:.0%} nội dung. Hãy giữ một văn bản, xoá văn bản kia "
    "hoặc ghi rõ nó bị thay thế (supersedes).",
    "“{one.title}” and “{other.title}” share about {share:.0%} of their text. Keep one of them, and delete the other "
    "or mark it as superseded.",
)
_ABOUT = {
    HealthKind.FAILED: (
        "Không nạp được phiên bản mới nhất của “{title}”.{detail} Hãy sửa tệp rồi nạp lại.",
        "The newest version of “{title}” could not be brought in.{detail} Mend the file and bring it in again.",
    ),
    HealthKind.PARTIAL: (
        "“{title}” chỉ đọc được một phần.{detail} Hãy xem cảnh báo của tài liệu và nạp lại tệp đầy đủ nếu cần.",
        "Only a part of “{title}” could be read.{detail} Look at its warnings and bring in a complete file if needed.",
    ),
    HealthKind.EMPTY: (
        "Không tìm được nội dung nào của “{title}”. Hãy nạp lại hoặc xoá tài liệu này.",
        "Nothing of “{title}” can be found. Bring it in again, or delete it.",
    ),
    HealthKind.EXPIRED: (
        "“{title}” hết hiệu lực sau ngày {day:%d/%m/%Y} và chưa có văn bản thay thế. Hãy nạp văn bản mới hoặc gia hạn.",
        "“{title}” ended on {day:%d %B %Y} and nothing takes its place. Bring in its successor, or extend it.",
    ),
    HealthKind.EXPIRING: (
        "“{title}” chỉ còn hiệu lực đến ngày {day:%d/%m/%Y} và chưa có văn bản thay thế. Hãy chuẩn bị văn bản mới hoặc "
        "gia hạn.",
        "“{title}” ends on {day:%d %B %Y} and nothing takes its place. Prepare its successor, or extend it.",
    ),
    HealthKind.OLD: (
        "“{title}” có từ ngày {day:%d/%m/%Y} và chưa được cập nhật. Hãy xác nhận nội dung còn đúng rồi nạp phiên bản "
        "mới.",
        "“{title}” dates from {day:%d %B %Y} and was not renewed since. Confirm that it still holds and bring in a new "
        "version.",
    ),
    HealthKind.NOT_COMPARED: (
        "“{title}” chưa được đối chiếu với mọi tài liệu bạn được đọc. Hãy chạy đối chiếu lại.",
        "“{title}” was not compared yet with everything you may read. Have it compared again.",
    ),
}


def contradiction(one: Side, other: Side, unit: str) -> Advice:
    """Two documents give amounts that cannot both hold."""
    vi_unit, en_unit = _UNITS.get(unit, ("con số", "a figure"))
    vi, en = _CONTRADICTION
    return Advice(vi=vi.format(one=one, other=other, unit=vi_unit), en=en.format(one=one, other=other, unit=en_unit))


def duplicate(one: Side, other: Side, share: float) -> Advice:
    """Two documents say nearly the same."""
    vi, en = _DUPLICATE
    return Advice(vi=vi.format(one=one, other=other, share=share), en=en.format(one=one, other=other, share=share))


def about(kind: HealthKind, title: str, detail: str, day: date | None) -> Advice:
    """One document as a whole. `detail` is what the pipeline said of it, `day` its last day or, of an old one, the
    first."""
    vi, en = _ABOUT[kind]
    said = {"title": title, "detail": f" {detail}" if detail else "", "day": day}
    return Advice(vi=vi.format(**said), en=en.format(**said))
