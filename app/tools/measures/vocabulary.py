"""Units by the names people give them, and what each is to the conversion.

Where a word means several sizes, the first is taken, said, and the others are told with it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from app.domain.knowledge import Language
from app.text.language import fold, normalise

_LONGEST_SYMBOL = 3
"""Anything longer that ends in s is an English plural."""


@dataclass(frozen=True)
class Unit:
    """A unit of one size."""

    name: str
    """Canonical, known to the conversion."""
    vi: str
    """How it is written in Vietnamese and, below, in English."""
    en: str

    def label(self, language: Language, *, is_one: bool = False) -> str:
        """The unit as it is shown; `is_one`: in the singular."""
        if language == "vi":
            return self.vi
        return self.en.removesuffix("s") if is_one and len(self.en) > _LONGEST_SYMBOL else self.en

    @property
    def symbol(self) -> str:
        """The unit inside a product, the same in both languages."""
        return self.label("en", is_one=True)


def _words(spellings: str) -> frozenset[str]:
    return frozenset(spellings.split("|"))


def _unit(name: str, labels: str, spellings: str) -> tuple[Unit, tuple[str, ...]]:
    vi, _, en = labels.partition("|")
    return Unit(name, vi, en or vi), (name, *spellings.split("|"))


_UNITS: tuple[tuple[Unit, tuple[str, ...]], ...] = (
    # temperature
    _unit("degree_Celsius", "°C", "°C|C|độ C|độ Celsius|độ bách phân|Celsius|centigrade|degC|degrees C|degrees Celsius|"
          "ºC|℃|deg C"),
    _unit("degree_Fahrenheit", "°F", "°F|F|độ F|độ Fahrenheit|Fahrenheit|degF|degrees F|degrees Fahrenheit|ºF|℉|deg F"),
    _unit("kelvin", "K", "K|kelvin|kelvins|độ K|độ kelvin|°K"),
    _unit("degree", "độ (góc)|°", "degree|degrees|độ góc|°"),
    # length
    _unit("kilometer", "km", "km|ki-lô-mét|kilômét|cây số|kilometre|kilometres|kilometers"),
    _unit("meter", "m", "m|mét|metre|metres|meters|thước tây"),
    _unit("decimeter", "dm", "dm|đề-xi-mét|đêximét|decimetre|decimetres|decimeters"),
    _unit("centimeter", "cm", "cm|xăng-ti-mét|xentimét|phân|centimetre|centimetres|centimeters"),
    _unit("millimeter", "mm", "mm|mi-li-mét|milimét|ly|li|millimetre|millimetres|millimeters"),
    _unit("micrometer", "µm", "µm|μm|um|micrômét|micrometre|micrometres|micrometers|micron|microns"),
    _unit("nanometer", "nm", "nm|nanômét|nanometre|nanometres|nanometers"),
    _unit("mile", "dặm|mi", "dặm|dặm Anh|mi|mile|miles"),
    _unit("nautical_mile", "hải lý|nmi", "hải lý|nmi|nautical mile|nautical miles"),
    _unit("yard", "yd", "yd|yard|yards|thước Anh"),
    _unit("foot", "ft", "ft|foot|feet|bộ Anh|'"),
    _unit("inch", "in", "in|inch|inches|inh|\""),
    # mass
    _unit("metric_ton", "tấn|t", "tấn|t|tonne|tonnes|metric ton|metric tons|metric tonne"),
    _unit("ta_vn", "tạ|tạ (100 kg)", "tạ"),
    _unit("yen_vn", "yến|yến (10 kg)", "yến"),
    _unit("kilogram", "kg", "kg|ki-lô-gam|kilôgam|ki-lô|kí lô|kilo|kilos|cân|ký|kí|kilogrammes|kilograms|kgs"),
    _unit("lang_vn", "lạng|lạng (100 g)", "lạng"),
    _unit("gram", "g", "g|gam|gram|grams|gramme|grammes"),
    _unit("milligram", "mg", "mg|mi-li-gam|miligam|milligrams"),
    _unit("pound", "lb", "lb|lbs|pound|pounds|pao|cân Anh"),
    _unit("ounce", "oz", "oz|ounce|ounces|ao-xơ"),
    _unit("stone", "st", "st|stone|stones"),
    _unit("carat", "ct", "ct|carat|carats|ca-ra|cara"),
    # area
    _unit("hectare", "ha", "ha|héc-ta|hecta|mẫu tây|hectares"),
    _unit("are", "a", "are|ares|a"),
    _unit("acre_international", "mẫu Anh|acre", "mẫu Anh|acre|acres"),
    _unit("sao_bac_bo", "sào Bắc Bộ", "sào Bắc Bộ|sào Bắc|sào miền Bắc"),
    _unit("sao_trung_bo", "sào Trung Bộ", "sào Trung Bộ|sào Trung|sào miền Trung"),
    _unit("sao_nam_bo", "sào Nam Bộ", "sào Nam Bộ|sào Nam|sào miền Nam"),
    _unit("mau_bac_bo", "mẫu Bắc Bộ", "mẫu Bắc Bộ|mẫu Bắc|mẫu miền Bắc"),
    _unit("mau_trung_bo", "mẫu Trung Bộ", "mẫu Trung Bộ|mẫu Trung|mẫu miền Trung"),
    _unit("cong_dat", "công đất|công (1,000 m²)", "công|công đất"),
    # volume
    _unit("liter", "lít|L", "l|L|lít|litre|litres|liters"),
    _unit("milliliter", "ml|mL", "ml|mL|mi-li-lít|mililít|cc|millilitre|millilitres|milliliters"),
    _unit("hectoliter", "hl|hL", "hl|héc-tô-lít|hectolitre|hectolitres|hectoliters"),
    _unit("gallon", "gallon Mỹ|US gallon", "gallon Mỹ|US gallon|US gallons|US gal"),
    _unit("imperial_gallon", "gallon Anh|imperial gallon",
          "imperial gallons|gallon Anh|imperial gallon|UK gallon|UK gallons"),
    _unit("fluid_ounce", "fl oz", "fl oz|fluid ounce|fluid ounces|US fluid ounce|US fluid ounces"),
    _unit("pint", "pint", "pint|pints|US pint|US pints"),
    _unit("quart", "quart", "quart|quarts|US quart|US quarts"),
    _unit("oil_barrel", "thùng dầu|oil barrel", "thùng dầu|thùng|barrel|barrels|oil barrel|oil barrels|bbl"),
    # time
    _unit("week", "tuần|weeks", "tuần|tuần lễ|week|weeks|wk"),
    _unit("day", "ngày|days", "ngày|day|days"),
    _unit("hour", "giờ|h", "h|hr|hrs|giờ|tiếng|hour|hours"),
    _unit("minute", "phút|min", "min|mins|phút|minute|minutes"),
    _unit("second", "giây|s", "s|sec|secs|giây|second|seconds"),
    _unit("millisecond", "ms", "ms|mi-li-giây|miligiây|milliseconds"),
    _unit("calendar_month", "tháng|months", "tháng|month|months"),
    _unit("calendar_quarter", "quý|quarters", "quý|quarter|quarters"),
    _unit("calendar_year", "năm|years", "năm|year|years|yr|yrs"),
    # speed
    _unit("mile_per_hour", "dặm/giờ|mph", "mph"),
    _unit("knot", "hải lý/giờ|kn", "kn|kt|knot|knots|nút"),
    # energy, power
    _unit("kilowatt_hour", "kWh", "kWh|kW·h|kWg|ki-lô-oát giờ|kilôoát giờ|số điện|ký điện|"
          "kilowatt hour|kilowatt hours|kilowatt-hour|kilowatt-hours"),
    _unit("watt_hour", "Wh", "Wh|oát giờ|watt hour|watt hours|watt-hour|watt-hours"),
    _unit("megawatt_hour", "MWh", "MWh|megawatt hour|megawatt hours|megawatt-hour|megawatt-hours"),
    _unit("joule", "J", "J|jun|joules"),
    _unit("kilojoule", "kJ", "kJ|ki-lô-jun|kilojoules"),
    _unit("megajoule", "MJ", "MJ|megajoules"),
    _unit("calorie", "cal", "cal"),
    _unit("kilocalorie", "kcal", "kcal|ki-lô-ca-lo|kilocalo|kilocalories"),
    _unit("watt", "W", "W|oát|watts"),
    _unit("kilowatt", "kW", "kW|ki-lô-oát|kilôoát|kilowatts"),
    _unit("megawatt", "MW", "MW|mê-ga-oát|megawatts"),
    _unit("milliwatt", "mW", "mW|milliwatts"),
    _unit("metric_horsepower", "mã lực|PS", "mã lực|PS|metric hp|metric horsepower|sức ngựa"),
    _unit("horsepower", "hp", "mechanical horsepower"),
    # pressure, force, angle
    _unit("pascal", "Pa", "Pa|pascals"),
    _unit("kilopascal", "kPa", "kPa|kilopascals"),
    _unit("megapascal", "MPa", "MPa|megapascals"),
    _unit("bar", "bar", "bar|bars|ba"),
    _unit("standard_atmosphere", "atm", "atm|át-mốt-phe|atmosphere|atmospheres"),
    _unit("pound_force_per_square_inch", "psi", "psi"),
    _unit("millimeter_Hg", "mmHg", "mmHg|mm Hg|milimét thủy ngân"),
    _unit("newton", "N", "N|niu-tơn|newtons"),
    _unit("kilonewton", "kN", "kN|kilonewtons"),
    _unit("hertz", "Hz", "Hz|héc"),
    # what computers store
    _unit("bit", "bit", "bit|bits"),
    _unit("byte", "B", "B|byte|bytes|bai"),
    _unit("kilobyte", "KB", "KB|kB|kb|ki-lô-bai|kilobytes"),
    _unit("megabyte", "MB", "MB|mb|mê-ga-bai|megabytes"),
    _unit("gigabyte", "GB", "GB|gb|gi-ga-bai|gigabytes"),
    _unit("terabyte", "TB", "TB|tb|tê-ra-bai|terabytes"),
    _unit("petabyte", "PB", "PB|petabytes"),
    _unit("kibibyte", "KiB", "KiB|kibibytes"),
    _unit("mebibyte", "MiB", "MiB|mebibytes"),
    _unit("gibibyte", "GiB", "GiB|gibibytes"),
    _unit("tebibyte", "TiB", "TiB|tebibytes"),
    _unit("kilobit", "kbit", "kbit|Kb|kilobits"),
    _unit("megabit", "Mbit", "Mbit|Mb|megabits"),
    _unit("kilobit_per_second", "kbps", "kbps|Kbps"),
    _unit("megabit_per_second", "Mbps", "Mbps"),
    _unit("gigabit_per_second", "Gbps", "Gbps"),
    _unit("gigabit", "Gbit", "Gbit|Gb|gigabits"),
)  # fmt: skip
_AMBIGUOUS: dict[str, tuple[str, ...]] = {
    "sào": ("sao_bac_bo", "sao_trung_bo", "sao_nam_bo"),
    "mẫu": ("mau_bac_bo", "mau_trung_bo"),
    "gallon": ("gallon", "imperial_gallon"), "gallons": ("gallon", "imperial_gallon"),
    "gal": ("gallon", "imperial_gallon"), "ga-lông": ("gallon", "imperial_gallon"),
    "độ": ("degree_Celsius", "degree"),
    "ton": ("short_ton", "metric_ton", "long_ton"), "tons": ("short_ton", "metric_ton", "long_ton"),
    "hp": ("horsepower", "metric_horsepower"), "horsepower": ("horsepower", "metric_horsepower"),
    "calo": ("kilocalorie", "calorie"), "ca-lo": ("kilocalorie", "calorie"),
    "calorie": ("kilocalorie", "calorie"), "calories": ("kilocalorie", "calorie"),
}  # fmt: skip
"""Words of several sizes: what is taken, then the others."""
_MORE_UNITS = (Unit("short_ton", "tấn Mỹ", "short tons"), Unit("long_ton", "tấn Anh", "long tons"))

DEFINITIONS = (
    "ta_vn = 100 * kilogram", "yen_vn = 10 * kilogram", "lang_vn = 100 * gram",
    "sao_bac_bo = 360 * meter ** 2", "sao_trung_bo = 500 * meter ** 2", "sao_nam_bo = 1000 * meter ** 2",
    "mau_bac_bo = 3600 * meter ** 2", "mau_trung_bo = 5000 * meter ** 2", "cong_dat = 1000 * meter ** 2",
    "acre_international = 43560 * foot ** 2",
    "kilobit_per_second = 1000 * bit / second",
    "megabit_per_second = 1000000 * bit / second",
    "gigabit_per_second = 1000000000 * bit / second",
    "calendar_month = [calendar]", "calendar_quarter = 3 * calendar_month", "calendar_year = 12 * calendar_month",
)  # fmt: skip
"""What the library does not know, or knows otherwise (its acre is of survey feet). Months and years are a measure of
their own: they have no fixed number of days."""
COUNTERPARTS: Mapping[str, str] = {
    "degree_Fahrenheit": "°C", "degree_Celsius": "°F", "kelvin": "°C", "mile": "km", "kilometer": "mi", "foot": "m",
    "yard": "m", "inch": "cm", "nautical_mile": "km", "meter": "ft", "centimeter": "in", "millimeter": "in",
    "pound": "kg", "kilogram": "lb", "ounce": "g", "gram": "oz", "stone": "kg", "carat": "g", "metric_ton": "kg",
    "short_ton": "kg", "long_ton": "kg", "ta_vn": "kg", "yen_vn": "kg", "lang_vn": "g", "hectare": "m²",
    "acre_international": "ha", "sao_bac_bo": "m²", "sao_trung_bo": "m²", "sao_nam_bo": "m²", "mau_bac_bo": "m²",
    "mau_trung_bo": "m²", "cong_dat": "m²", "are": "m²", "gallon": "l", "imperial_gallon": "l", "liter": "gallon",
    "fluid_ounce": "ml", "pint": "l", "quart": "l", "oil_barrel": "l", "milliliter": "l", "week": "ngày",
    "day": "giờ", "hour": "phút", "minute": "giây", "second": "phút", "calendar_year": "tháng",
    "calendar_quarter": "tháng", "calendar_month": "năm", "mile_per_hour": "km/h", "knot": "km/h",
    "kilowatt_hour": "MJ", "watt_hour": "kJ", "joule": "cal", "kilojoule": "kcal", "calorie": "J",
    "kilocalorie": "kJ", "watt": "mã lực", "kilowatt": "mã lực", "horsepower": "kW", "metric_horsepower": "kW",
    "bar": "psi", "pound_force_per_square_inch": "bar", "standard_atmosphere": "kPa", "millimeter_Hg": "kPa",
    "byte": "bit", "kilobyte": "KiB", "megabyte": "MiB", "gigabyte": "GiB", "terabyte": "TiB", "kibibyte": "KB",
    "mebibyte": "MB", "gibibyte": "GB", "tebibyte": "TB", "megabit": "MB", "gigabit": "MB", "kilobit": "KB",
}  # fmt: skip
"""What somebody most likely wants to know who names no target; a product of units keeps those that are metric."""
COUNTERPARTS_OF_RATES: Mapping[tuple[tuple[str, int], ...], str] = {
    (("kilometer", 1), ("hour", -1)): "m/s", (("meter", 1), ("second", -1)): "km/h",
}  # fmt: skip
IMPERIAL = frozenset({"mile", "foot", "yard", "inch", "pound", "ounce", "gallon", "nautical_mile"})
_CURRENCIES = _words(
    "đồng|đ|₫|vnd|vnđ|việt nam đồng|usd|$|us$|đô|đô la|đô la mỹ|đô-la|dollar|dollars|us dollar|us dollars|eur|€|euro"
    "|euros|ơ-rô|gbp|£|bảng|bảng anh|pound sterling|jpy|¥|yên|yên nhật|yen|cny|rmb|nhân dân tệ|tệ|yuan|krw|₩|won"
    "|thb|baht|sgd|aud|cad|chf|hkd|twd|inr|rupee|rub|rúp|btc|bitcoin"
)
_UNFIXED = _words("gang|gang tay|sải|sải tay|bước|bước chân|chén|bát|thìa|muỗng|nắm|thước|vạt|cup|cups|pinch|handful")
"""Customary measures whose size depends on who measures where."""


def _spelt(spelling: str) -> str:
    return normalise(spelling).replace("-", " ")


def _spellings() -> Iterator[tuple[str, tuple[Unit, ...]]]:
    named = {unit.name: unit for unit in (*_MORE_UNITS, *(unit for unit, _ in _UNITS))}
    for word, names in _AMBIGUOUS.items():
        yield _spelt(word), tuple(named[name] for name in names)
    for unit, spellings in _UNITS:
        for spelling in spellings:
            yield _spelt(spelling), (unit,)


def _table(loosen: Callable[[str], str]) -> Mapping[str, tuple[Unit, ...]]:
    """Spellings by what `loosen` leaves of them; what would then name two units names none."""
    table: dict[str, tuple[Unit, ...]] = {}
    for spelling, units in _spellings():
        held = table.setdefault(loosen(spelling), units)
        if held[0] != units[0]:
            table[loosen(spelling)] = ()
    return table


_EXACT = _table(str)
_CASELESS = _table(str.casefold)
_FOLDED = _table(lambda spelling: fold(spelling).casefold())


def find_unit(word: str) -> tuple[Unit, ...]:
    """The unit a word names, and the others it may mean; empty = the word is not in here.

    Exact spelling first (``MW`` is not ``mW``), then without regard to case, then without Vietnamese marks.
    """
    spelt = _spelt(word)
    for table, key in ((_EXACT, spelt), (_CASELESS, spelt.casefold()), (_FOLDED, fold(spelt).casefold())):
        if found := table.get(key):
            return found
    return ()


def is_currency(word: str) -> bool:
    """Whether the word names money, for which no rate is known here."""
    return normalise(word).casefold() in _CURRENCIES


def is_unfixed(word: str) -> bool:
    """Whether the word names a measure without one size."""
    return normalise(word).casefold() in _UNFIXED
