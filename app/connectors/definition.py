"""What a connector is told: where documents come from, and who may read here what whom may read there.

An administrator writes the definition. The operator's file says for each tenant which hosts, folders and secrets its
connectors may use: an administrator of one company reads neither the operator's network nor the secrets of another one.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self
from uuid import UUID

import re2
import yaml
from pydantic import Field, JsonValue, ValidationError, model_validator

from app.connectors.source import Reach, SourceKind, kind_named
from app.domain.principal import GENERAL, Scope, tenant_id_of
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.ingestion.files import first_fault
from app.ingestion.folder import Pattern, matcher

Glob = Annotated[Pattern, Field(max_length=200)]
Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
ListName = Annotated[str, Field(min_length=1, max_length=200)]
WITHHELD = "withheld"
"""The department of documents that are kept from everybody; nothing may be mapped to it."""


class Rights(NamedTuple):
    """Who may read a document here."""

    department: str
    scope: Scope


class AccessRule(Record):
    """Who may read what matches: ``lists`` of the source, and ``match`` by the path."""

    match: Glob = "**"
    lists: tuple[ListName, ...] | None = Field(None, min_length=1, max_length=100)
    """Any of these; unset = whoever may read it there."""
    department: Slug = GENERAL
    scope: Scope

    @model_validator(mode="after")
    def _is_not_withheld(self) -> Self:
        if self.department == WITHHELD:
            raise ValueError(f"department: {WITHHELD!r} is for documents nobody may read")
        return self


class Definition(Record):
    """A connector."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    """Part of the external id of every document: ``connector:NAME/…``."""
    kind: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")]
    source: dict[str, JsonValue]
    secret: Annotated[str, Field(pattern=r"^([a-z0-9][a-z0-9_-]{0,63})?$")] = ""
    """A name of the operator's file; never a secret itself."""
    every_minutes: int = Field(60, ge=1, le=10_080)
    ignore: tuple[Glob, ...] = Field((), max_length=100)
    """Paths that are no documents; brought in before, they are withdrawn."""
    access: tuple[AccessRule, ...] = Field(min_length=1, max_length=500)
    """The last one that matches decides. What none matches is not brought in."""

    def opened_kind(self) -> tuple[SourceKind, Any]:
        """The adapter, and its options as it reads them. Raises `AppError`."""
        kind = kind_named(self.kind)
        if not kind.has_lists and any(rule.lists for rule in self.access):
            raise _wrong(f"access: a source of kind {self.kind!r} names no lists; use match")
        try:
            return kind, kind.options.model_validate(self.source)
        except ValidationError as error:
            raise _wrong(f"source.{first_fault(error, kind.options)}") from error


class Access:
    """The rules of a definition at work; in linear time, as strangers write both patterns and paths."""

    def __init__(self, rules: Iterable[AccessRule], ignore: Sequence[str] = ()):
        self._rules = [(rule, matcher([rule.match], re2.compile)) for rule in rules]
        self.is_ignored = matcher(ignore, re2.compile)
        self.needs_lists = any(rule.lists for rule, _ in self._rules)
        """Whether the source has to be asked for lists at all."""

    def rights_of(self, path: str, lists: frozenset[str]) -> Rights | None:
        """Who may read this here; None = nobody, as no rule speaks of it."""
        for rule, matches in reversed(self._rules):
            if matches(path) and (rule.lists is None or not lists.isdisjoint(rule.lists)):
                return Rights(rule.department, rule.scope)
        return None


class Grant(Record):
    """What the operator lets one tenant use."""

    hosts: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    secrets: dict[str, Annotated[str, Field(pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:/.+)$")]] = {}
    """By the name a definition uses: ``env:VARIABLE`` or ``file:/path``."""


def grant_of(file: Path | None, tenant_id: UUID) -> Grant:
    """What the operator's file gives a tenant; nothing where there is no file or it does not name the tenant.

    Reads the file each time, so that a change holds at once. Raises `AppError` (503) where it cannot be used.
    """
    if file is None:
        return Grant()
    try:
        told = yaml.safe_load(file.read_text("utf-8")) or {}
        grants = {tenant_id_of(str(name)): value for name, value in dict(told).items()}
        return Grant.model_validate(grants.get(tenant_id) or {})
    except ValidationError as error:
        raise _unusable(file, first_fault(error, Grant)) from error
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise _unusable(file, f"it cannot be read ({type(error).__name__})") from error


def reach_of(grant: Grant, definition: Definition, cache_dir: Path) -> Reach:
    """What this connector may use, with its secret read. Raises `AppError` where the operator named none of it."""
    secret = ""
    if definition.secret:
        if (reference := grant.secrets.get(definition.secret)) is None:
            raise _wrong(f"secret: the operator's file names no {definition.secret!r} for this company")
        where, _, name = reference.partition(":")
        try:
            secret = os.environ[name] if where == "env" else Path(name).read_text("utf-8").strip()
        except (KeyError, OSError, ValueError) as error:
            raise _wrong(f"secret: {definition.secret!r} is named by the operator, but is not there") from error
    return Reach(grant.hosts, grant.folders, secret, cache_dir)


def _wrong(detail: str) -> AppError:
    return AppError(ErrorCode.PAYLOAD_INVALID, f"{detail}.", status=422)


def _unusable(file: Path, reason: str) -> AppError:
    return AppError(ErrorCode.VALIDATION_FAILED, f"{file.name} of the operator cannot be used: {reason}.", status=503)
