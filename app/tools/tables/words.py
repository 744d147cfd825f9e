"""The words of questions to tables, folded, in both languages.

What to compute, how to compare, what means nothing, and what columns may be called.
"""

from collections.abc import Iterable


def _phrases(listed: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in listed.split(","))


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


CUES: dict[str, frozenset[tuple[str, ...]]] = {
    "sum": _phrases("tong cong,tong so tien,tong gia tri,tong so,tong,cong lai,cong het,total,sum,sum up,altogether"),
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
    "not,other than"
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
MONTH_UNIT, QUARTER_UNIT, YEAR_UNIT = (
    frozenset({"thang", "month"}),
    frozenset({"quy", "quarter"}),
    frozenset({"nam", "year"}),
)
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
    s amount d vnd usd by per each i we you can could would
    """
)
"""Words that change nothing about what is asked. Negations and comparisons are never among them."""
SPELT_HARMLESS = _words(
    """
    à ạ ơi ở và với của là thì mà trong cho tôi mình em anh chị bạn biết hãy giúp xin vui lòng làm ơn nhé nha được
    có các những một bao nhiêu mấy gì nào tất cả toàn bộ hết tính tìm xem liệt kê đọc dựa đếm vào theo từng bảng
    tệp cột trang dữ liệu giá trị đính kèm này đó kia đây số tiền dòng hàng mục bản ghi kết quả thế sao khi vậy
    nếu thuộc năm bị rằng ấy ạ hiện để sẽ đã đang ra ô ai hỏi
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
_GROUPS = tuple(tuple(tuple(phrase.split()) for phrase in listed.split(",")) for listed in _SAME)


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
    return frozenset(found)


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
