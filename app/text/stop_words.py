"""Function words of Vietnamese and English, and words that must not be mistaken when diacritics are missing."""


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


VIETNAMESE_STOP_WORDS = _words(
    """
    ai anh bao biết bạn bằng bị bởi cho chúng chưa chỉ chị các cái còn có cùng cũng cả của cứ do dù dưới dạ gì hay
    hoặc hãy hơn hả họ hở khi không là lúc lại muốn mà mình mấy mọi mỗi một nhiêu nhé như nhưng nhỉ những nào này
    nên nó nếu ra rất rằng rồi sao sẽ ta theo thì thế trong trên tôi tại tới từ và vào vì vẫn vậy về với à đang đi
    đâu đây đã đó được đấy đến đều để ơi ư ạ ấy ở
    """
)
"""Syllables, lower case, canonical tone placement; those that carry meaning in compounds are left out."""

FOLDED_STOP_WORDS = _words(
    """
    ai ay bao boi cac cho chung cua cung dang dau den deu do duoc gi hay hoac hon khi khong la lai ma mot nao nen
    neu nhe nhi nhieu nhu nhung o oi ra rang rat roi sao se the theo thi toi tren trong va vao vay ve vi voi
    """
)
"""The same for Vietnamese typed without diacritics; forms that are as often another word are left out."""

ENGLISH_STOP_WORDS = _words(
    """
    a about above after again all also am an and any are as at be because been before being below between both but
    by can could d did do does doing done down during each either else ever every few for from further get gets got
    had has have having he her here hers him his how i if in into is it its itself just let ll m may many me might more
    most much must my no nor not now of off on once one only or other our ours out over own per please re s same
    shall she should so some such t tell than that the their theirs them then there these they this those through to
    too under until up upon us ve very want was we were what when where whether which while who whom whose why will
    with within without would yes you your yours
    """
)
"""With the pieces that are left of contractions (``don't`` is two words)."""

ENGLISH_LOOKALIKES = _words(
    """
    bang bank bat bay bed bet bit bong bot boy bun bus but buy cat chain chair cheap cheat china chip chop come cup
    cut dam date day den die dim dip dong dot due each eat fan gang gap gem go gong gun gut ha ham hang hat hen hey
    hi hip hire hit ho hoe home hop hot hum hung hunt hut in kin king kit lab lap lay leave lie lip lit log long lot
    lung main man map mat max men met mi min mit mom mop mum nam nap need net nip note nut oh pan pay pen pep pet
    phone ping pip pit plan pop pot pro pup put quit ran rap rat ray reach rich ring rip rot run rung rut sap sat
    say send set sick sin sing sip sit son song sum sun sup tan tap task tax teach ten thank thanks thin thing tie
    time tin tip toe tom ton tong too top toy train trap tray trim trip trot try type use van vat vet vip yes yet
    zip
    """
)
"""Ordinary English words that could be Vietnamese syllables without diacritics: they prove nothing either way."""

LOANWORDS = _words(
    """
    account admin app backup bonus browser chat check click code computer cv data deadline desktop download driver
    email error excel file gmail google hotline hr internet iphone key kpi laptop link login logo logout macbook
    mail manager marketing meeting menu mobile mouse network office offline online os ot outlook password pdf
    phishing photo pin policy print profile remote report reset router sale scan server slack smartphone software
    spam support tablet team teams test ticket token update usb user video virus visa vpn web website wifi windows
    word zoom
    """
)
"""English words that stand in Vietnamese office talk all the time; they prove nothing either way."""
