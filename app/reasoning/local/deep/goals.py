"""What a question asks for: the kind of the answer, and what has to be done with the figures."""

import re
from typing import Literal

from app.reasoning.local.deep.formats import Form
from app.reasoning.local.deep.sayings import Saying, words_of
from app.reasoning.local.question import read_question

Operation = Literal["left", "difference", "total", "most", "least", "average", "count", "whether", "share", ""]
_MONEY = Saying(
    r"(?:bao nhiêu|mấy) (?:tiền|đồng|triệu|tỷ|tỉ|nghìn|ngàn|vnđ|vnd|usd|đô)",
    r"số tiền",
    "bao nhiêu usd",
    r"how much(?! (?:notice|time|leave|annual|longer|"
    r"sooner|later|earlier))",
    r"what (?:is|was|would be|will be) the (?:\w+ ){0,3}(?:cost|price|"
    r"amount|pay|fee|deduction|bonus|sum|reimbursement|refund|allowance|"
    r"salary|charge|payment)",
    "how many (?:dong|pounds|"
    r"dollars|euros)",
    r"what (?:do|does|did|will|would|must|should|can) (?:\w+ ){1,4}(?:pay|cost|earn|receive|owe|"
    r"get back)(?! for the)",
    r"(?:total|amount) in (?:VND|dong|pounds|GBP|USD)",
)
_MONEY_WORDS = Saying(
    "tiền",
    "lương",
    "thưởng",
    "phụ cấp",
    "phí",
    "chi phí",
    "giá",
    "hoàn",
    "được trả",
    "phải trả",
    "khấu trừ",
    "bị trừ",
    "phạt",
    "tạm ứng",
    "bồi thường",
    "trợ cấp",
    "ngân sách",
    "mức trần",
    "thanh toán",
    "hỗ trợ",
    "tốn",
    "nhận được",
    "được nhận",
    "hoàn trả",
    "hạn mức",
    "trị giá",
    "chi",
    "pay",
    "paid",
    "cost",
    "costs",
    "salary",
    "bonus",
    "allowance",
    "fee",
    "price",
    "charged?",
    "deducted",
    "refund(?:ed)?",
    "reimburse(?:d|ment)?",
    "owe",
    "owes",
    "claim",
    "earn",
    "worth",
    "receive",
)
_UNITS: tuple[tuple[str, str, str], ...] = (
    ("night", "đêm", "nights?"),
    ("day", "ngày", "days?"),
    ("hour", "giờ|tiếng", "hours?"),
    ("minute", "phút", "minutes?"),
    ("week", "tuần", "weeks?"),
    ("month", "tháng", "months?"),
    ("year", "năm", "years?"),
    ("time", "lần|lượt", "times"),
    ("km", "km|ki-?lô-?mét|kilomet", "km|kilometres?|kilometers?"),
    ("mile", "dặm", "miles?"),
    ("%", "phần trăm|%", "per ?cent|%"),
    ("person", "người", "people|persons|guests|participants"),
    ("point", "điểm", "points?"),
    ("second", "giây", "seconds?"),
    ("character", "ký tự", "characters?"),
)
_ASKED_UNITS = tuple(
    (
        kind,
        Saying(
            rf"(?:bao nhiêu|mấy)(?: [^\W\d]+)? (?:{vi})(?!\w)",
            rf"how many (?:more |fewer |extra |paid |working |business |calendar |further |whole |"
            rf"full |[a-z-]+ ){{0,4}}"
            rf"(?:{en})(?!\w)",
            ends=False,
        ),
    )
    for kind, vi, en in _UNITS
)
_LEAVE = Saying("how much (?:annual |paid |sick |more )?(?:leave|notice|holiday)")
_PERCENT = Saying(
    "bao nhiêu (?:%|phần trăm)",
    "mấy phần trăm",
    "(?:tỷ|tỉ) lệ(?: phần trăm)?",
    "what (?:percentage|per ?cent|share|rate)",
    "how many per ?cent",
    "percentage points?",
    ends=False,
)
_DATE = Saying(
    r"ngày (?:nào|mấy|bao nhiêu)",
    "khi nào",
    "bao giờ",
    r"(?:hạn (?:chót|cuối|nộp)[^?]{0,40}|"
    r"trước |đến |vào )ngày nào",
    "hạn (?:chót|cuối)",
    r"(?:which|what) (?:is the )?(?:date|day)",
    r"(?:by|on|until|from) (?:which|what|when)",
    "when",
    "what is the (?:last|first|latest|earliest|end|start|due) (?:\\w+ ){0,2}(?:date|day)",
    "(?:last|first|latest|earliest|due) date",
    "deadline",
    "latest (?:date|day)",
)
_COUNT = Saying("bao nhiêu", "mấy", "how many", "số lượng", "number of")
_OPERATIONS: tuple[tuple[Operation, Saying], ...] = (
    (
        "share",
        Saying(
            r"(?:chiếm|bằng|là) (?:bao nhiêu|"
            r"mấy) (?:phần trăm|%)",
            r"what (?:percentage|share|per ?cent) of",
        ),
    ),
    (
        "difference",
        Saying(
            r"(?:hơn|kém|nhiều hơn|ít hơn|cao hơn|thấp hơn|dài hơn|ngắn hơn|chênh|chênh lệch|lệch|"
            r"khác)(?: [^?]{1,60})? (?:bao nhiêu|mấy|nhau)",
            "chênh lệch",
            "hiệu (?:số|giữa)",
            "(?:tăng|giảm) (?:thêm )?(?:bao nhiêu|mấy)",
            r"bao nhiêu [^?]{1,30} hơn",
            r"thêm (?:được )?(?:bao nhiêu|mấy)",
            r"khác (?:nhau|biệt) (?:bao nhiêu|mấy)",
            r"how (?:much|many)(?: \w+){0,3} (?:more|less|fewer|longer|higher|lower|shorter|greater|extra)",
            "difference",
            r"by how (?:much|many)",
            r"(?:more|less|fewer|longer|higher|lower) than [^?]*how (?:much|many)",
            "gap between",
            r"(?:increase|decrease|rise|risen|fall)d? by",
        ),
    ),
    (
        "left",
        Saying(
            r"còn(?: lại)?(?: được)?(?: [^?]{0,30})? "
            r"(?:bao nhiêu|mấy)",
            "còn lại",
            "còn được",
            "thực nhận",
            "thực lĩnh",
            "sau khi trừ",
            r"còn (?:thiếu|nợ|phải)",
            r"(?:left|remain(?:s|ing)?|still (?:have|take|left|"
            r"available)|unused|balance)",
            "after (?:the )?deductions?",
            "net (?:pay|salary|amount)",
        ),
    ),
    ("average", Saying("trung bình", "bình quân", "average", "mean")),
    (
        "most",
        Saying(
            r"(?:cao|lớn|nhiều|dài|đắt|lâu|đông) nhất",
            "highest",
            "largest",
            "longest",
            "greatest",
            "most expensive",
            "the most",
            "biggest",
        ),
    ),
    (
        "least",
        Saying(r"(?:thấp|nhỏ|ngắn|rẻ) nhất", "lowest", "smallest", "shortest", "cheapest", "the least", "fewest"),
    ),
    (
        "total",
        Saying(
            "tổng(?: cộng| số| chi phí| tiền)?",
            "cả thảy",
            "tất cả",
            "cộng lại",
            "gộp lại",
            "in total",
            "total",
            "altogether",
            "combined",
            "sum of",
            "in all",
            "together",
        ),
    ),
)
ASKS_EXCESS = Saying("vượt(?: quá)?(?: mức| trần| hạn mức)*", "quá mức", "phần vượt", "exceeds?",
r"(?:above|over) the (?:\w+ ){0,3}(?:limit|cap|ceiling|maximum)",
                 "in excess", "too (?:much|expensive)", "tự (?:trả|chi trả|bù)",
                 "(?:pay|paid|bear|cover)s? (?:her|him|my|"
                     "our|"
                     "them)?(?:self|selves)")  # fmt: skip
ASKS_MAXIMUM = Saying("tối đa", "nhiều nhất được", "at most", "maximum", "up to")
ASKS_LIST = Saying(
    "liệt kê", "kể tên", "những .{1,40} nào", "list (?:the|all)", "name (?:the|all)", "which .{1,40} are"
)


def operation_of(text: str) -> Operation:
    """What has to be done; whether something holds where only yes or no is asked for."""
    return next((name for name, saying in _OPERATIONS if text in saying), _otherwise(text))


def wanted_in(text: str, form: Form) -> str:
    """What kind of thing is asked for; the last asking words count most."""
    places = [(mark.start(), kind) for kind, saying in _ASKED_UNITS for mark in saying.finditer(text)]
    places += [(mark.start(), "money") for mark in _MONEY.finditer(text)]
    places += [(mark.start(), "%") for mark in _PERCENT.finditer(text)]
    places += [(mark.start(), "day") for mark in _LEAVE.finditer(text)]
    if form.day:
        return "date"
    if places:
        return max(places)[1]
    if text in _DATE:
        return "date"
    if text in _COUNT:
        return _counted(text)
    if _CURRENCY_ASKED.search(f"{text} {form.words}") and read_question(text).kind not in ("who", "where", "when"):
        return "money"
    return "money" if text in _MOST_MONEY else "text"


_CURRENCY_ASKED = re.compile(
    r"\bin (?:pounds|GBP|VND|dong|dollars|USD|euros|EUR)\b|bằng (?:đồng|VND|USD)|\(đồng\)", re.IGNORECASE
)
_MOST_MONEY = Saying(
    r"what is the (?:most|maximum|largest|highest|minimum|least|total)(?: \w+){0,5} (?:cost|claim|pay|"
    r"spend|get|receive|advance|refund|amount|price|fee|allowance|"
    r"budget|charge)",
    r"(?:mức|số) (?:tiền|phí|lương|thưởng|phụ cấp)[^?]{0,40} là gì",
)
_COUNT_NOUN = re.compile(
    r"(?:bao nhiêu|mấy|bao nhieu|may|how many|number of)\s+(?P<noun>[^\W\d_]+(?:\s[^\W\d_]+)?)", re.IGNORECASE
)
_NO_NOUN = words_of("là la thì nhỉ vậy ạ hả cho với để khi nếu trong một mỗi tất cả nhất tháng năm và")


def _counted(text: str) -> str:
    """Money where “bao nhiêu” stands alone or before a word of money; else things are counted."""
    mark = _COUNT_NOUN.search(text)
    noun = mark["noun"].lower() if mark else ""
    if not noun or noun.split()[0] in _NO_NOUN:
        return "money" if text in _MONEY_WORDS else "count"
    if re.match(
        r"(?:khoản|mục|đơn|dòng|lần|nhân viên|người|loại|hạng mục|mặt hàng|báo giá|khách|phòng|dự án|bậc|nhóm)", noun
    ):
        return "count"
    return "money" if noun in _MONEY_WORDS else "count"


def _otherwise(text: str) -> Operation:
    return "whether" if read_question(text).kind == "yes_no" else ""
