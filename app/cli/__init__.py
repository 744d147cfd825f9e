"""The `conclave` command. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not available (database, server).

A command's module is imported when it is called (`app.cli.commands` says where it stands).
"""

import sys

import aiohttp
import typer
from pydantic import ValidationError

from app import telemetry
from app.cli.commands import PLACES, Commands
from app.cli.later import stand_in
from app.cli.output import FAILED, UNAVAILABLE, USAGE, tell_problem
from app.errors import AppError, ErrorCode, describe_validation

_USAGE_CODES = {ErrorCode.PAYLOAD_INVALID, ErrorCode.VALIDATION_FAILED}
_UNAVAILABLE_CODES = {ErrorCode.DATABASE_UNAVAILABLE, ErrorCode.LLM_UNAVAILABLE, ErrorCode.OVERLOADED}
_HELP = (__doc__ or "").partition("\n\n")[0]

app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=_HELP)
for _name, _place in PLACES.items():
    app.command(_name, help=_place.told)(stand_in)


def main() -> None:
    """Run the command line; every expected failure becomes one sentence and an exit code."""
    telemetry.configure("WARNING")
    as_json = "--json" in sys.argv
    try:
        app()
    except AppError as error:
        tell_problem(as_json, error.code, error.detail)
        raise SystemExit(_exit_code(error.code)) from None
    except ValidationError as error:
        tell_problem(as_json, ErrorCode.PAYLOAD_INVALID, describe_validation(error.errors()))
        raise SystemExit(USAGE) from None
    except (aiohttp.ClientError, TimeoutError) as error:
        tell_problem(as_json, ErrorCode.OVERLOADED, f"The server cannot be reached ({type(error).__name__}).")
        raise SystemExit(UNAVAILABLE) from None


def _exit_code(code: ErrorCode) -> int:
    if code in _UNAVAILABLE_CODES:
        return UNAVAILABLE
    return USAGE if code in _USAGE_CODES else FAILED
