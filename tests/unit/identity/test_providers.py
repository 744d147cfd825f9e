"""The file of identity providers: what it gives to whom, and what is wrong with it, by line."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from app.domain.principal import SCOPES
from app.errors import AppError
from app.identity.openid import Start
from app.identity.providers import NotMapped, Provider, ProvidersRefused, read_providers
from app.main.oidc import open_sign_ins
from app.settings import Settings

GOOD = """\
address: https://ask.company.example
providers:
  company:
    title: Company account
    issuer: https://login.company.example/realms/staff
    client_id: conclave
    client_secret_env: SECRET_OF_CLIENT
    tenant: company
    groups:
      hr-team: {departments: [hr], scopes: [private]}
"""


def provider(**changes: Any) -> Provider:
    told = {"title": "A", "issuer": "https://login.example", "client_id": "conclave", "tenant": "company"}
    return Provider.model_validate({**told, **changes})


class TestTheFile:
    def test_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "good.yaml").write_text(GOOD, "utf-8")
        assert read_providers(tmp_path / "good.yaml").providers["company"].groups["hr-team"].departments == ("hr",)

    @pytest.mark.parametrize(
        ("text", "becomes", "line", "told"),
        [
            ("title:", "titel:", 4, "providers.company.titel"),
            ("departments: [hr]", "department: [hr]", 10, "hr-team.department"),
            ("[private]", "[secret]", 10, "scopes.0"),
            ("scopes: [private]", "roles: [service]", 10, "no provider gives it"),
            ("https://login", "http://login", 5, "https"),
            ("https://ask.company.example", "https://ask.company.example/path", 1, "no path"),
            ("tenant: company", "tenant: 7", 8, "tenant"),
            ("    tenant: company", "    tenant: company\n    tenant: other", 9, "stands twice"),
            ("    tenant: company\n", "", 4, "tenant"),
            ("    tenant: company", "    scopes: [profile]\n    tenant: company", 3, "openid"),
            ("  company:", "  Company:", 3, "pattern"),
            (GOOD, "", 1, "address"),
            ("address", "[", 1, "good.yaml"),
        ],
    )
    def test_is_refused_with_the_line(
        self, tmp_path: Path, text: str, becomes: str, line: int, told: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "good.yaml"
        path.write_text(GOOD.replace(text, becomes), "utf-8")
        with pytest.raises(ProvidersRefused, match=told) as refused:
            read_providers(path)
        assert f"good.yaml:{line}: " in str(refused.value) or "line 1" in str(refused.value) or becomes == "["

    def test_stops_the_start_when_it_is_missing_or_has_no_secret(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "good.yaml"
        settings = Settings(_env_file=None, oidc_file=path, auth_jwt_secret=SecretStr(""))
        with pytest.raises(AppError, match=r"CONCLAVE_OIDC_FILE cannot be used: .*good.yaml"):
            open_sign_ins(settings, None)  # type: ignore[arg-type]
        path.write_text(GOOD, "utf-8")
        monkeypatch.delenv("SECRET_OF_CLIENT", raising=False)
        with pytest.raises(AppError, match="SECRET_OF_CLIENT"):
            open_sign_ins(settings, None)  # type: ignore[arg-type]
        monkeypatch.setenv("SECRET_OF_CLIENT", "x")
        made = open_sign_ins(settings, None)  # type: ignore[arg-type]
        assert made is not None and made.session_cookie == "__Host-conclave-session" and made.is_secure


class TestClaims:
    def test_give_nothing_without_a_group_or_a_default(self) -> None:
        with pytest.raises(NotMapped):
            provider(groups={"staff": {"scopes": ["public"]}}).mapped({"sub": "lan", "groups": ["others"]})
        with pytest.raises(NotMapped):
            provider().mapped({"sub": "lan"})
        assert provider(default={"scopes": ["public"]}).mapped({"sub": "lan"}).scopes == {"public"}

    def test_are_looked_for_by_name_and_then_by_path(self) -> None:
        one = provider(groups_claim="realm.roles", groups={"staff": {"scopes": ["public"]}})
        assert one.mapped({"sub": "lan", "realm": {"roles": ["staff"]}}).groups == ("staff",)
        assert one.mapped({"sub": "lan", "realm.roles": "staff", "realm": {"roles": []}}).groups == ("staff",)

    def test_of_an_address_count_once_it_is_verified(self) -> None:
        one = provider(user_claim="email", default={"scopes": ["public"]})
        for verified in (None, False, "true", 1):
            with pytest.raises(NotMapped):
                one.mapped({"email": "lan@company.example", "email_verified": verified})
        assert one.mapped({"email": "lan@company.example", "email_verified": True}).user == "lan@company.example"

    @given(st.lists(st.sampled_from(["a", "b", "c", "d"])), st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.fixed_dictionaries({"scopes": st.lists(st.sampled_from(SCOPES)), "roles": st.lists(st.just("admin"))}),
    ))  # fmt: skip
    def test_give_what_their_groups_give_and_never_more(self, held: list[str], groups: dict[str, Any]) -> None:
        allowed = {scope for name in held for scope in groups.get(name, {}).get("scopes", [])}
        roles = {role for name in held for role in groups.get(name, {}).get("roles", [])}
        one = provider(groups=groups)
        if not allowed:
            with pytest.raises(NotMapped):
                one.mapped({"sub": "lan", "groups": held})
            return
        got = one.mapped({"sub": "lan", "groups": held})
        assert got.scopes == allowed and got.roles == roles

    @given(
        st.recursive(st.none() | st.text() | st.integers(), lambda one: st.lists(one) | st.dictionaries(st.text(), one))
    )
    def test_of_any_shape_give_nobody_anything_by_accident(self, value: Any) -> None:
        one = provider(groups={"staff": {"scopes": ["public"]}})
        try:
            got = one.mapped({"sub": value, "groups": value, "name": value})
        except NotMapped:
            return
        assert got.groups == ("staff",) and (value == "staff" or "staff" in value)


class TestAStart:
    @given(st.text())
    def test_is_not_read_from_what_is_none(self, text: str) -> None:
        assert Start.read(text) is None

    def test_comes_back_as_it_was_and_hides_its_seed(self) -> None:
        one = Start.of("company", "/admin", 1_000.0)
        assert Start.read(one.text()) == one
        told = {one.derived(purpose) for purpose in ("state", "nonce", "verifier")}
        assert len(told) == 3 and one.seed not in told and all(len(text) == 43 for text in told)


def test_a_provider_is_never_reached_in_clear_elsewhere() -> None:
    for issuer in ("http://login.example", "ftp://x", "https://", "https://u@x.example", "https://x.example?a", "x"):
        with pytest.raises(ValidationError):
            provider(issuer=issuer)
