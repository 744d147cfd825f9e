"""YAML files of operators: read strictly, and told about by file and key."""

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError


class FileRefused(Exception):
    """A file cannot be used; the message names file and key and says what is wrong."""


def read_yaml(path: Path) -> Any:
    """The content of one file. Raises `FileRefused`."""
    return parse_yaml(path, read_text(path))


def read_text(path: Path) -> str:
    """One file as it stands. Raises `FileRefused`."""
    try:
        return path.read_text("utf-8")
    except (UnicodeDecodeError, OSError) as error:
        raise FileRefused(f"{path}: {error}") from error


def parse_yaml(path: Path, text: str) -> Any:
    """The content of a file's text. Raises `FileRefused`, which names `path`."""
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise FileRefused(f"{path}: {error}") from error


def problems(error: ValidationError) -> Iterator[str]:
    """``tools.0.name: there is no tool 'x'`` for each thing that is wrong."""
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        key = ".".join(map(str, problem["loc"])) or "the file"
        yield f"{key}: {problem['msg'].removeprefix('Value error, ')}"


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice in one mapping instead of forgetting the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                continue  # the base class says what is wrong with it
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key '{key}' stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)
