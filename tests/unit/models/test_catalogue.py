"""The catalogue says only what can be asked for, and addresses have the two shapes and no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import AppError, ErrorCode
from app.models.catalogue import address_of, checked_host, checked_role, entry_named, read_catalogue

HOST = "https://host"
DIGEST = "sha256:" + "a" * 64


class TestCatalogue:
    def test_every_entry_can_be_asked_for_and_says_its_licence_and_languages(self) -> None:
        catalogue = read_catalogue()
        assert {entry.role for entry in catalogue.models.values()} == {"chat", "embed", "rerank"}
        for entry in catalogue.models.values():
            assert address_of(entry).url(catalogue.hosts[address_of(entry).kind]).startswith("https://")
            assert entry.licence and entry.languages and entry.memory_mb
            assert entry.file.endswith(".gguf")
            assert bool(entry.size) == bool(entry.sha256), "whoever knows the hash has seen the file"


class TestAddresses:
    def test_hugging_face(self) -> None:
        entry = entry_named("hf:some-one/Some.Repo/deep/Some-Model.Q4.gguf@0123abc")
        assert (entry.name, entry.file, entry.role, entry.sha256) == ("some-model.q4", "Some-Model.Q4.gguf", "chat", "")
        assert address_of(entry).url(f"{HOST}/") == f"{HOST}/some-one/Some.Repo/resolve/0123abc/deep/Some-Model.Q4.gguf"
        assert "/resolve/main/" in address_of(entry_named("hf:a/b/c.gguf", "embed")).url(HOST)

    @pytest.mark.parametrize(
        ("name", "path", "called"),
        [
            ("ollama:qwen3:0.6b", "library/qwen3/manifests/0.6b", "qwen3-0.6b"),
            ("ollama:qwen3", "library/qwen3/manifests/latest", "qwen3-latest"),
            ("ollama:some/one:t", "some/one/manifests/t", "one-t"),
        ],
    )
    def test_ollama(self, name: str, path: str, called: str) -> None:
        entry = entry_named(name)
        assert address_of(entry).url(HOST) == f"{HOST}/v2/{path}"
        assert address_of(entry).blob_url(HOST, DIGEST) == f"{HOST}/v2/{path.partition('/manifests')[0]}/blobs/{DIGEST}"
        assert (entry.name, entry.file) == (called, f"{called}.gguf")

    @pytest.mark.parametrize(
        "name",
        ["hf:a/../c.gguf", "hf:a/b/../../c.gguf", "hf:a/b", "hf:a/b/c?d", "ollama:a/b/c:d", "ollama:", "hf:a/b//c"],
    )
    def test_anything_else_is_refused(self, name: str) -> None:
        with pytest.raises(AppError):
            entry_named(name)

    @given(st.text(max_size=40))
    def test_no_name_leaves_the_folder_of_models(self, text: str) -> None:
        for start in ("", "hf:a/b/", "hf:", "ollama:"):
            try:
                entry = entry_named(start + text)
            except AppError as error:
                assert error.code in (ErrorCode.NOT_FOUND, ErrorCode.VALIDATION_FAILED)
            else:
                assert not {"/", "\\", "\0"} & {*entry.name, *entry.file}
                assert not entry.name.startswith(".") and not entry.file.startswith(".")

    @pytest.mark.parametrize("url", ["ftp://host", "host", "http://", "http://host:0", "http://[", "file:///etc"])
    def test_no_mirror(self, url: str) -> None:
        with pytest.raises(AppError):
            checked_host(url)

    def test_roles(self) -> None:
        assert checked_role("embed") == "embed"
        with pytest.raises(AppError, match="rerank, embed, chat"):
            checked_role("judge")
