"""English names of the months, as dates in text use them."""

import calendar

MONTH_NAMES = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}
"""Lower case, whole and short, to 1–12."""
