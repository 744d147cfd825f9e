"""The words of questions to tables, folded, in both languages.

What to compute, how to compare, what means nothing, and what columns may be called.
"""

from collections.abc import Collection, Iterable

from app.domain.knowledge import Language


def _phrases(listed: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in listed.split(","))


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


CUES: dict[str, frozenset[tuple[str, ...]]] = {
    "sum": _phrases("tong cong,tong so tien,tong gia tri,tong so,tong,cong lai,cong het,cong cot,hay cong,"
        "total,sum,sum up,altogether"),
    "average": _phrases("trung binh,binh quan,average,mean,avg"),
    "count": _phrases("dem so,dem,co bao nhieu,so dong,so hang,how many,count,number of"),
    "max": _phrases(
        "lon nhat,cao nhat,nhieu nhat,dat nhat,max,maximum,highest,largest,biggest,greatest,most,most expensive"
    ),
    "min": _phrases("nho nhat,thap nhat,it nhat,re nhat,min,minimum,lowest,smallest,least,cheapest"),
    "distinct": _phrases(
        "khac nhau,bao nhieu loai,cac gia tri,gia tri nao,nhung gi,co nhung,co cac,distinct,different,unique,list the"
    ),
}  # fmt: skip
EACH = _phrases("theo tung,theo moi,theo,moi,tung,cua tung,cua moi,by,per,for each,of each,each,group by,grouped by")
WHICH_BEFORE = _phrases("which,what,whose")
WHICH_AFTER = _phrases("nao")
WHO = _phrases("ai,nguoi nao,nhan vien nao,who,dong nao,hang nao,khoan nao,muc nao,which row,which line,which item")
"""Ask for the row itself."""
NOT = _phrases(
    "khong phai,khong thuoc,khong tinh,khong gom,khong bao gom,ngoai tru,tru,khac,except,except for,excluding,without,"
    "not,other than,not in,not from,not at,outside,outside of,khong o,khong tai,khong nam o,khong phai o,isn t,is not,"
    "khong phai la,khong bang,khac voi"
)
"""Before a value: rows without it."""
NEGATIONS = _words(
    """
    khong chua chang cha dung tru ngoai khac cam not no never except excluding without neither nor minus
    """
)
COMPARED: dict[tuple[str, ...], tuple[str, bool]] = {
    **dict.fromkeys(_phrases("lon hon,cao hon,nhieu hon,hon,tren,vuot,vuot qua,qua,more than,greater than,above,over,"
                             "exceeding,higher than,larger than"), ("low", False)),
    **dict.fromkeys(_phrases("tu,it nhat,toi thieu,at least,from,lon hon hoac bang,khong duoi,khong it hon"),
                    ("low", True)),
    **dict.fromkeys(_phrases("nho hon,thap hon,it hon,duoi,less than,fewer than,below,under,lower than,smaller than"),
                    ("high", False)),
    **dict.fromkeys(_phrases("den,toi da,khong qua,khong hon,at most,up to,to,nho hon hoac bang"), ("high", True)),
}  # fmt: skip
"""Comparison to (bound, included)."""
AND_BEYOND: dict[tuple[str, ...], str] = {
    **dict.fromkeys(_phrases("tro len,or more,or above,or higher,and above,and over,or over"), "low"),
    **dict.fromkeys(_phrases("tro xuong,or less,or below,or lower,or fewer,and below,and under"), "high"),
}
"""Behind a number: it is a bound, itself included."""
EQUAL = _phrases("=,la,bang,dung bang,is,are,was,were,equals,equal to,is equal to,of")
"""Between a column and its value."""
WHOLE = _phrases("toan cong ty,ca cong ty,toan bo cong ty,the whole company,the entire company")
"""Mean every row."""
MONTH_UNIT, QUARTER_UNIT, YEAR_UNIT = (
    frozenset({"thang", "month"}),
    frozenset({"quy", "quarter"}),
    frozenset({"nam", "year"}),
)
ROWS = _words(
    "dong hang hàng dòng ban ghi bản muc mục khoan khoản don đơn hoa hóa hoá giao dich dịch row rows record records "
    "entry entries line lines item items invoice invoices order orders transaction transactions"
)
"""Those of them that are nothing but rows: ``chi phí nhân viên`` may be a cost of its own, ``of the orders`` none."""
LINKS = _words("of for from in all the these those cua của cac các nhung những cho trong tat ca cả with per each")
SPELT_RECORDS = _words("dòng hàng bản ghi mục khoản người nhân viên đơn hóa hoá giao dịch")
RECORDS = _words(
    """
    dong hang ban ghi muc khoan nguoi nhan vien don hoa giao dich row rows record records item items entry entries
    line lines employee employees people person invoice invoices order orders transaction transactions
    """
)
"""What the rows of a table may be called."""
HARMLESS = _words(
    """
    a ah o oi va voi cua la thi ma trong o tai cho toi minh em anh chi ban biet hay giup xin vui long lam on nhe
    nha duoc co cac nhung mot bao nhieu may gi nao tat ca toan bo het ra tinh tim xem liet ke doc dua dem vao theo
    tung bang tep file cot column columns sheet trang tinh du lieu gia tri dinh kem nay do kia day so tien dong
    hang muc ban ghi ket qua the nao sao khi vay neu thuoc nam bi rang ay ai lai hien thuc te de the an of
    in on at for and or is are was were be been do does did what which who whose how much many me my
    please tell show give find calculate compute get add all whole value values row rows record records item items
    entry entries line lines table attached attachment this that these those there with where have has had it its
    s amount d vnd usd by per each i we you can could would tai placed located tat
    """
)
"""Words that change nothing about what is asked. Negations and comparisons are never among them."""
ENGLISH_ONLY = _words("it is its an of in on at for or are was be been do we he she as us hr pr qa")
"""Harmless or short words of English that no question in Vietnamese says, unless as a value."""
_ENGLISH = _words("the of total sum average how what which who many much where list show count with is are per by and")
SPELT_HARMLESS = _words(
    """
    à ạ ơi ở và với của là thì mà trong cho tôi mình em anh chị bạn biết hãy giúp xin vui lòng làm ơn nhé nha được
    có các những một bao nhiêu mấy gì nào tất cả toàn bộ hết tính tìm xem liệt kê đọc dựa đếm vào theo từng bảng
    tệp cột trang dữ liệu giá trị đính kèm này đó kia đây số tiền dòng hàng mục bản ghi kết quả thế sao khi vậy
    nếu thuộc năm bị rằng ấy ạ hiện để sẽ đã đang ra ô ai hỏi tại mức nằm
    """
)
"""The same with their marks: ``lại`` changes nothing, ``lãi`` does."""
_SAME = (
    "chi phi,cost,costs,expense,expenses,spending,chi tieu", "doanh thu,revenue,turnover", "doanh so,sales",
    "luong,tien luong,salary,salaries,wage,wages,pay", "phong ban,phong,department,departments,dept,bo phan",
    "so luong,quantity,qty,sl", "don gia,unit price", "gia,price,prices", "thanh tien,amount,line total",
    "so tien,amount,sum of money", "ngay,date,day", "thang,month", "quy,quarter", "nam,year",
    "trang thai,tinh trang,status,state", "ho ten,ho va ten,ten,name,full name,ten nhan vien,employee name",
    "nhan vien,employee,employees,staff", "du an,project,projects", "san pham,product,products,mat hang",
    "khach hang,customer,customers,client,clients", "nha cung cap,supplier,suppliers,vendor,vendors",
    "khu vuc,vung,region,regions,area", "chi nhanh,branch,branches", "thue,tax,taxes", "giam gia,chiet khau,discount",
    "so gio,gio,hours,hour", "so ngay,days", "lam them,tang ca,overtime", "thuong,tien thuong,bonus,bonuses",
    "ngan sach,budget,budgets", "loi nhuan,profit,profits", "cong no,debt,debts", "ghi chu,note,notes,remarks",
    "loai,hang muc,category,categories,type", "diem,score,scores,points", "tuoi,age",
    "chuc vu,chuc danh,position,title",
    "ma,code,id", "thanh pho,city", "quoc gia,country", "so hoa don,invoice number", "han thanh toan,due date",
)  # fmt: skip
_LEAST_PLURAL = 3
_ROW_PHRASES = _phrases("don hang,hoa don,giao dich,ban ghi,nhan vien,khach hang,hang hoa,mat hang,gia tri")
_GROUPS = tuple(tuple(tuple(phrase.split()) for phrase in listed.split(",")) for listed in _SAME)

_UNCUT = _ROW_PHRASES | {phrase for group in _GROUPS for phrase in group if len(phrase) > 1}


def is_vietnamese(words: Collection[str], language: Language) -> bool:
    """Whether a question of an asker of `language` is put in Vietnamese."""
    return language == "vi" and _ENGLISH.isdisjoint(words)


def deciding_words() -> frozenset[str]:
    """Words that group, compare or ask for the row itself."""
    phrases = (*EACH, *WHICH_BEFORE, *WHICH_AFTER, *WHO, *COMPARED)
    return frozenset(word for phrase in phrases for word in phrase)


def alternatives(name: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """A column's name and what else it may be called: each known phrase in it put in the other words for it."""
    found = {name}
    for group in _GROUPS:
        for phrase in group:
            at = find(name, phrase)
            if at >= 0 and not _is_inside_longer(name, phrase):
                found |= {(*name[:at], *other, *name[at + len(phrase) :]) for other in group}
    return frozenset(found | {(*one[:-1], many) for one in found if one and (many := _plural(one[-1]))})


def cuts_phrase(words: tuple[str, ...], taken: Collection[int], at: int, size: int) -> bool:
    """Whether a known phrase reaches out of these words: ``hàng`` of ``đơn hàng`` is none of ``khách hàng``.

    A phrase of which other words were `taken` is none any more.
    """
    for phrase in _UNCUT:
        for start in range(max(at - len(phrase) + 1, 0), at + size):
            places = range(start, start + len(phrase))
            outside = [place for place in places if not at <= place < at + size]
            if outside and words[start : places.stop] == phrase and not any(place in taken for place in outside):
                return True
    return False


def _plural(word: str) -> str:
    """The English plural of a word, regular; a word of another language gains a form that nobody says."""
    if len(word) < _LEAST_PLURAL or not word.isalpha() or word.endswith("s"):
        return ""
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"


def _is_inside_longer(name: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    """Whether the phrase only stands in the name as a part of a longer known one (``gia`` in ``don gia``)."""
    longer = (other for group in _GROUPS for other in group if len(other) > len(phrase) and find(other, phrase) >= 0)
    return any(find(name, other) >= 0 for other in longer)


def find(words: tuple[str, ...], phrase: tuple[str, ...]) -> int:
    """Where `phrase` stands in `words`; -1 where it does not."""
    size = len(phrase)
    return next((at for at in range(len(words) - size + 1) if words[at : at + size] == phrase), -1)


def longest_first(phrases: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Longer phrases before the shorter ones inside them."""
    return sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
