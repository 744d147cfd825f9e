"""The `conclave` command. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not available (database, server).

A command's module is imported when it is called (`app.cli.lazy_commands` says where it stands), and what tells of
failures when there is one: a list of commands waits for neither.
"""

import sys
from importlib import import_module

import typer

from app.cli.lazy_commands import PLACES, Commands, stand_in

_HELP = (__doc__ or "").partition("\n\n")[0]

app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=_HELP)
for _name, _place in PLACES.items():
    app.command(_name, help=_place.summary)(stand_in)


def main() -> None:
    """Run the command line; every expected failure becomes one sentence and an exit code."""
    try:
        app()
    except Exception as error:
        code = import_module("app.cli.output").print_failure(error, as_json="--json" in sys.argv)
        if code is None:
            raise
        raise SystemExit(code) from None
