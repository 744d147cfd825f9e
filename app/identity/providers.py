"""Identity providers of companies, as one YAML file names them: where people sign in, and what their claims give.

Who is in no group of the file gets its default, which is nothing: such a person does not come in.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator

from app.domain.principal import SCOPES, Scope
from app.domain.record import Record

MOST_GROUPS = 2_000
"""Groups one person may be in; further ones are not looked at."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
_Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
_Text = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]


class ProvidersRefused(Exception):
    """The file cannot be used; the message names file and line and says what is wrong."""


def _checked_address(address: str) -> str:
    parts = urlsplit(address)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not is_safe or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError("must be an https address without a user, a query or a fragment")
    return address


def _own_roles(roles: tuple[str, ...]) -> tuple[str, ...]:
    if "service" in roles:
        raise ValueError("'service' is for programs an administrator makes, no provider gives it")
    return roles


def bare_address(address: str) -> str:
    """Where a service is found, without a slash at the end. Raises `ValueError` for more than a host, and for http to
    another machine."""
    if urlsplit(address := _checked_address(address).rstrip("/")).path:
        raise ValueError("must have no path")
    return address


class Given(Record):
    """Rights a group gives."""

    departments: tuple[_Slug, ...] = ()
    """The first one anything gives is the person's own."""
    scopes: tuple[Scope, ...] = ()
    roles: Annotated[tuple[_Slug, ...], AfterValidator(_own_roles)] = ()


class Mapped(Record):
    """A person as the claims say: name, and rights before those in `users` narrow them."""

    user: str
    name: str
    department: str
    departments: frozenset[str]
    scopes: frozenset[Scope]
    roles: frozenset[str]
    groups: tuple[str, ...]
    """Those of the file that the person is in."""


class NotMapped(Exception):
    """Claims give nobody, or nothing; says why to the log and to who tries a token."""


class Provider(Record):
    """One identity provider, for the people of one tenant."""

    title: _Text
    """On the button."""
    issuer: Annotated[str, AfterValidator(_checked_address)]
    client_id: _Text
    client_secret_env: str = Field("", pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")
    """Environment variable with the secret; empty = a public client, PKCE alone."""
    scopes: tuple[_Text, ...] = ("openid", "profile")
    tenant: _Text
    user_claim: _Text = "sub"
    """The name in `users`; must be one people cannot choose themselves."""
    name_claim: _Text = "name"
    groups_claim: _Text = "groups"
    """A list of names; ``realm_access.roles`` looks into an object."""
    groups: dict[_Text, Given] = {}
    default: Given = Given()
    """What everybody of the provider gets."""

    @model_validator(mode="after")
    def _asks_for_an_id_token(self) -> Self:
        if "openid" not in self.scopes:
            raise ValueError("scopes must contain openid")
        return self

    def mapped(self, claims: Mapping[str, Any]) -> Mapped:
        """Who these claims describe and what that person gets. Raises `NotMapped`."""
        user = _claim(claims, self.user_claim)
        if not isinstance(user, str) or not 0 < len(user.strip()) <= 200 or "\x00" in user:
            raise NotMapped(f"the claim {self.user_claim!r} has no name of a user")
        if self.user_claim == "email" and claims.get("email_verified") is not True:
            raise NotMapped("the provider has not verified the address of this person (email_verified)")
        told = _claim(claims, self.groups_claim)
        listed = [told] if isinstance(told, str) else told if isinstance(told, list) else []
        held = {one for one in listed[:MOST_GROUPS] if isinstance(one, str)}
        groups = tuple(name for name in self.groups if name in held)
        given = [*(self.groups[name] for name in groups), self.default]
        departments = [one for each in given for one in each.departments]
        scopes = frozenset(one for each in given for one in each.scopes)
        if not scopes:
            raise NotMapped("none of the person's groups, nor the default, gives anything to read")
        name = _claim(claims, self.name_claim)
        return Mapped(
            user=user.strip(), name=name[:200].replace("\x00", "") if isinstance(name, str) else "",
            department=next(iter(departments), "general"), departments=frozenset(departments) or {"general"},
            scopes=frozenset(one for one in SCOPES if one in scopes),
            roles=frozenset(one for each in given for one in each.roles), groups=groups,
        )  # fmt: skip


class Providers(Record):
    """What the file says."""

    address: Annotated[str, AfterValidator(bare_address)]
    """Where people find this service, ``https://ask.company.com``."""
    providers: dict[_Name, Provider] = Field(min_length=1)
    """By the name in addresses, in the order of the buttons."""


def read_providers(path: Path) -> Providers:
    """The file at `path`; reads it. Raises `ProvidersRefused`, which names the line."""
    try:
        root = yaml.compose(path.read_text("utf-8") or "{}", yaml.SafeLoader) or yaml.MappingNode("", [])
        if twice := next(_twice(root), None):
            raise ProvidersRefused(f"{path}:{_line(twice)}: the key '{twice.value}' stands twice")
        return Providers.model_validate(yaml.SafeLoader("").construct_document(root))
    except ValidationError as error:
        told = "; ".join(
            f"{path}:{_line(_node(root, problem['loc']))}: {'.'.join(map(str, problem['loc'])) or 'the file'}: "
            + problem["msg"].removeprefix("Value error, ")
            for problem in error.errors(include_url=False, include_context=False, include_input=False)[:5]
        )
        raise ProvidersRefused(told) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise ProvidersRefused(f"{path}: {error}") from None


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """The claim of that name, else what the parts between dots lead to."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _node(root: yaml.Node, place: tuple[int | str, ...]) -> yaml.Node:
    """The node a problem is about: as far down as the path leads, the key itself where it is one too many."""
    place = tuple(one for one in place if one != "[key]")  # the key itself is wrong
    for step, is_last in ((one, number == len(place) - 1) for number, one in enumerate(place)):
        if isinstance(root, yaml.MappingNode):
            found = next(((key, value) for key, value in root.value if key.value == str(step)), None)
            if found is None:
                break
            root = found[0] if is_last else found[1]
        elif isinstance(root, yaml.SequenceNode) and isinstance(step, int) and step < len(root.value):
            root = root.value[step]
    return root


def _twice(node: yaml.Node) -> Iterator[yaml.Node]:
    """Keys that stand in one mapping before."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                yield key
            seen.add(key.value)
            yield from _twice(value)
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _twice(one)
