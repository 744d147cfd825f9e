"""Functions of the service wrapped from outside, and put back."""

from collections.abc import Callable
from functools import partial
from typing import Any

from opentelemetry.instrumentation.utils import unwrap
from wrapt import wrap_function_wrapper

Undo = Callable[[], object]
"""Puts back what was wrapped."""


def wrapped_as(owner: Any, name: str, wrapper: Callable[..., Any]) -> Undo:
    """Call `wrapper` (the function, whose method it is, its arguments) in the place of a function, until undone."""
    wrap_function_wrapper(owner, name, wrapper)
    return partial(unwrap, owner, name)
