"""Many cases in one test: it runs for each of them and lists those it fails for."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

Test = Callable[..., Any]


def each_case(names: str | Sequence[str], cases: Iterable[Any], ids: object = None) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, but one item. Fixtures are shared by the cases. `ids` name them."""
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = [dict(zip(fields, case if len(fields) > 1 else (case,), strict=True)) for case in cases]
    named = list(ids) if isinstance(ids, Sequence) else [repr(list(case.values()))[:200] for case in listed]

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        async def run_async(*args: Any, **fixtures: Any) -> None:
            offenders: list[str] = []
            for name, case in zip(named, listed, strict=True):
                with _noted(name, offenders):
                    await test(*args, **fixtures, **case)
            assert not offenders, "\n".join(offenders)

        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            offenders: list[str] = []
            for name, case in zip(named, listed, strict=True):
                with _noted(name, offenders):
                    test(*args, **fixtures, **case)
            assert not offenders, "\n".join(offenders)

        runner: Any = run_async if inspect.iscoroutinefunction(test) else run
        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in fields]
        runner.__signature__ = signature.replace(parameters=kept)
        return runner  # type: ignore[no-any-return]

    return decorate


@contextmanager
def _noted(name: str, offenders: list[str]) -> Iterator[None]:
    """Note a failure and go on."""
    try:
        yield
    except (Exception, pytest.fail.Exception) as error:
        offenders.append(f"{name}: {type(error).__name__}: {str(error)[:1000]}")
