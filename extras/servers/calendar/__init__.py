"""Days, weeks and public holidays: counting, shifting and reading dates. Pure: no clock, no network, no protocol."""
