"""A folder as the source of documents: what is listed, what its manifest says, and what is retired."""

import json
import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import AppError, ErrorCode
from app.ingestion.files import FORMATS, Entry, Source, entries_of, front_matter, read_upload
from app.ingestion.folder import FolderRules, Manifest, plan, read_manifest, sync_name, walk
from app.ingestion.parsing.sniff import _ENDINGS
from tests.cases import each_case

PREFIX = "folder:policies/"
NAMES = st.sampled_from([f"{folder}{name}" for folder in ("", "hr/", "hr/luong/", "it/") for name in "abcd"])
FILES = st.frozensets(NAMES.map(PREFIX.__add__))
FOREIGN = st.frozensets(
    st.sampled_from(["leave", "hr/a", "folder:policies-old/a", "folder:other/hr/a", "folder:policies"])
)


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def rules(manifest: Mapping[str, Any], departments: tuple[str, ...] = ("hr", "it"), **base: Any) -> FolderRules:
    return FolderRules("policies", Manifest.model_validate(manifest), {"scope": "internal", **base}, departments)


def fields_of(found: FolderRules, name: str, own: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return found.describe(Entry(Source(Path(name), name), name), own or {})


def own_fields(entry: Entry, own: Mapping[str, Any]) -> dict[str, Any]:
    return {"department": "hr", **own}


class TestPlan:
    @given(FILES, FILES, FOREIGN)
    def test_done_once_leaves_nothing_to_do(
        self, files: frozenset[str], known: frozenset[str], foreign: frozenset[str]
    ) -> None:
        first = plan(files, known | foreign, prefix=PREFIX, allow_retire_all=True)
        after = (known | foreign | files) - set(first.retire)
        second = plan(files, after, prefix=PREFIX, allow_retire_all=True)
        assert (second.arrive, second.retire, second.withheld) == ((), (), ())
        assert set(second.check) == files == {one for one in after if one.startswith(PREFIX)}

    @given(FILES, FILES, FOREIGN, st.booleans())
    def test_retires_only_its_own_and_only_what_has_no_file(
        self, files: frozenset[str], known: frozenset[str], foreign: frozenset[str], allow: bool
    ) -> None:
        found = plan(files, known | foreign, prefix=PREFIX, allow_retire_all=allow)
        assert {*found.retire, *found.withheld} == known - files
        assert not (found.retire and found.withheld)
        assert set(found.arrive) == files - known
        assert set(found.check) == files & known

    @given(FILES, FOREIGN)
    def test_retires_nothing_when_the_folder_is_empty(self, known: frozenset[str], foreign: frozenset[str]) -> None:
        found = plan((), known | foreign, prefix=PREFIX)
        assert found.retire == () and set(found.withheld) == known

    @given(FILES, FILES)
    def test_retires_at_most_half_unless_told_to(self, files: frozenset[str], known: frozenset[str]) -> None:
        found = plan(files, known, prefix=PREFIX)
        assert 2 * len(found.retire) <= len(known)
        assert bool(found.withheld) == (2 * len(known - files) > len(known) or (not files and bool(known)))

    @given(FILES, FILES, st.sampled_from(["", "hr", "hr/luong", "it/a"]))
    def test_retires_nothing_below_what_could_not_be_read(
        self, files: frozenset[str], known: frozenset[str], unreadable: str
    ) -> None:
        found = plan(files, known, prefix=PREFIX, unreadable=[unreadable], allow_retire_all=True)
        protected = {
            one for one in known
            if not unreadable or f"{one.removeprefix(PREFIX)}/".startswith(f"{unreadable}/")
        }  # fmt: skip
        assert set(found.retire) == known - files - protected

    def test_keeps_the_lines_of_a_file_that_could_not_be_read(self) -> None:
        known = [f"{PREFIX}faq.jsonl#{number}" for number in range(3)]
        assert plan([f"{PREFIX}a"], known, prefix=PREFIX, unreadable=["faq.jsonl"]).retire == ()


class TestWalk:
    def test_takes_the_files_that_can_be_read(self) -> None:
        assert {ending.removeprefix(".") for ending in FORMATS} == {*_ENDINGS, "jsonl"}

    def test_lists_documents_in_order_and_says_what_it_leaves_out(self, tmp_path: Path) -> None:
        root = write(
            tmp_path / "docs",
            {
                "b.md": "b", "hr/a.PDF": "a", "hr/~$a.docx": "lock", ".git/config.txt": "x", "it/x.md.tmp": "x",
                "it/.hidden.md": "x", "logo.png": "x", "conclave.toml": "", "drafts/c.md": "c",
            },
        )  # fmt: skip
        found = walk(root, lambda name: name.startswith("drafts/"))
        assert [source.name for source in found.sources] == ["b.md", "hr/a.PDF"]
        assert set(found.skipped) == {
            ("logo.png", "none of the formats that are read"),
            ("drafts/c.md", "ignored by conclave.toml"),
        }

    def test_follows_no_link_out_of_the_folder(self, tmp_path: Path) -> None:
        root = write(tmp_path / "docs", {"hr/a.md": "a"})
        outside = write(tmp_path / "outside", {"secret.md": "x"})
        (root / "inside.md").symlink_to(root / "hr" / "a.md")
        (root / "secret.md").symlink_to(outside / "secret.md")
        (root / "folder").symlink_to(outside)
        (root / "loop").symlink_to(root)
        (root / "gone.md").symlink_to(root / "nothing.md")
        found = walk(root)
        assert [source.name for source in found.sources] == ["inside.md", "hr/a.md"]
        assert sorted(name for name, _ in found.skipped) == ["folder", "loop", "secret.md"]
        assert found.unreadable == ["gone.md"]

    def test_waits_for_no_pipe(self, tmp_path: Path) -> None:
        root = write(tmp_path / "docs", {"a.md": "a"})
        os.mkfifo(root / "pipe.md")
        assert walk(root).skipped == [("pipe.md", "not a file")]
        (entry,) = entries_of([Source(root / "pipe.md", "pipe.md")], own_fields)
        assert "not a file" in entry.fault

    def test_refuses_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(AppError, match="cannot be read"):
            walk(tmp_path / "nothing")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_names_folders_nobody_may_look_into(self, tmp_path: Path) -> None:
        root = write(tmp_path / "docs", {"a.md": "a", "hr/b.md": "b"})
        (root / "hr").chmod(0)
        try:
            assert walk(root).unreadable == ["hr"]
        finally:
            (root / "hr").chmod(0o755)


class TestManifest:
    def test_of_a_folder_without_one_says_nothing(self, tmp_path: Path) -> None:
        assert read_manifest(tmp_path) == Manifest()
        assert sync_name(tmp_path, Manifest()) == tmp_path.name

    @each_case(
        ("text", "told"),
        [
            ('[defaults]\nscop = "private"', "defaults.scop: there is no such key; allowed are external_id, title"),
            ('[[rules]]\nmatch = "*"\nscope = "secret"', "rules.0.scope: Input should be 'public', 'internal' or"),
            ('[[rules]]\nscope = "private"', "rules.0.match: Field required"),
            ('[[rules]]\nmatch = "../x/*"', "rules.0.match: must be relative to the folder"),
            ('[[rules]]\nmatch = "a"\nfoo = 1', "allowed are external_id, title"),
            ("nam = 'x'", "nam: there is no such key; allowed are name, defaults, departments, ignore, rules"),
            ("name = 'a/b'", "name: must be 1 to 100 characters without a slash"),
            ('[departments]\nHR = "Human Resources"', "departments.HR: String should match"),
            ("[defaults]\neffective_from = 2026-13-01", "it is not TOML"),
            ("\x00", "it is not TOML"),
        ],
    )
    def test_that_is_wrong_is_refused_with_file_key_and_what_is_allowed(
        self, tmp_path: Path, text: str, told: str
    ) -> None:
        write(tmp_path, {"conclave.toml": text})
        with pytest.raises(AppError) as caught:
            read_manifest(tmp_path)
        assert caught.value.code is ErrorCode.PAYLOAD_INVALID
        assert caught.value.detail.startswith(f"{tmp_path / 'conclave.toml'}: ")
        assert told in caught.value.detail

    def test_reads_dates_and_rules(self, tmp_path: Path) -> None:
        write(tmp_path, {"conclave.toml": '[[rules]]\nmatch = "hr/**"\neffective_from = 2026-01-01\n'})
        (rule,) = read_manifest(tmp_path).rules
        assert rule.effective_from == date(2026, 1, 1)


class TestFolderRules:
    def test_give_every_file_an_id_of_this_folder(self) -> None:
        assert fields_of(rules({}), "hr/a.md", {"external_id": "mine"})["external_id"] == f"{PREFIX}hr/a.md"

    @each_case(
        ("name", "department"),
        [
            ("hr/a.md", "hr"),
            ("HR/deep/a.md", "hr"),
            ("Phòng Nhân sự/a.md", "hr"),
            ("legal/a.md", "general"),
            ("hr.md", "general"),
        ],
    )
    def test_take_the_first_folder_for_the_department_where_there_is_one(self, name: str, department: str) -> None:
        found = rules({"departments": {"Phòng nhân sự": "hr"}}, department="general")
        assert fields_of(found, name)["department"] == department

    def test_let_the_later_word_win(self) -> None:
        manifest = {
            "defaults": {"scope": "public", "authority": "guide"},
            "rules": [{"match": "hr/**", "scope": "private"}, {"match": "*.pdf", "authority": "law"}],
        }
        found = rules(manifest, authority="policy")
        assert fields_of(found, "it/a.md")["scope"] == "public"
        assert fields_of(found, "it/a.md", {"scope": "internal"})["scope"] == "internal"
        assert fields_of(found, "hr/deep/a.md", {"scope": "public"})["scope"] == "private"
        assert fields_of(found, "hr/a.PDF")["authority"] == "law"
        assert found.unused == ()

    @each_case(
        ("pattern", "name", "matches"),
        [
            ("hr/**/*.pdf", "hr/a.pdf", True),
            ("hr/**/*.pdf", "hr/x/y/a.pdf", True),
            ("hr/*.pdf", "hr/x/a.pdf", False),
            ("*.pdf", "x/y/a.pdf", True),
            ("hr/**", "hrx/a.pdf", False),
            ("**/lương/*", "hr/LƯƠNG/a.md", True),
            ("a?.md", "hr/ab.md", True),
            ("a?.md", "a/.md", False),
            ("[x].md", "x.md", False),
            ("[x].md", "[x].md", True),
            ("c#.md", "hr/C#.md", True),
        ],
    )
    def test_match_like_globs(self, pattern: str, name: str, matches: bool) -> None:
        found = rules({"rules": [{"match": pattern, "scope": "private"}]})
        assert (fields_of(found, name)["scope"] == "private") is matches
        assert found.unused == (() if matches else (pattern,))

    def test_lead_supersedes_to_what_is_brought_in(self, tmp_path: Path) -> None:
        root = write(
            tmp_path,
            {
                "hr/old.md": "---\nexternal_id: leave-2024\n---\nOld.\n",
                "hr/new.md": "---\nsupersedes: leave-2024\n---\nNew.\n",
                "hr/path.md": "---\nsupersedes: ./hr/new.md\n---\nNewer.\n",
                "hr/other.md": "---\nsupersedes: elsewhere\n---\nOther.\n",
            },
        )
        found = rules({})
        entries = found.resolve(entries_of(walk(root).sources, found.describe))
        assert {entry.name: entry.fields.supersedes for entry in entries} == {
            "hr/old.md": None,
            "hr/new.md": f"{PREFIX}hr/old.md",
            "hr/path.md": f"{PREFIX}hr/new.md",
            "hr/other.md": "elsewhere",
        }


class TestEntries:
    def entries(self, root: Path) -> list[Entry]:
        return entries_of(walk(root).sources, own_fields)

    def test_of_markdown_with_front_matter_have_its_fields_and_the_text_below(self, tmp_path: Path) -> None:
        front = (
            "---\r\ntitle: Nghỉ phép\r\nscope: private\r\neffective_from: 2026-01-01\r\n---\r\n# Nghỉ\r\n\r\n14 ngày."
        )
        (entry,) = self.entries(write(tmp_path, {"leave.md": b"\xef\xbb\xbf" + front.encode()}))
        upload = read_upload(entry)
        assert (upload.content, upload.text) == (None, "# Nghỉ\n\n14 ngày.")
        assert (upload.fields.title, upload.fields.scope) == ("Nghỉ phép", "private")
        assert upload.fields.effective_from == date(2026, 1, 1)

    def test_of_files_without_it_are_their_bytes(self, tmp_path: Path) -> None:
        # In the Vietnamese code page, and beginning like a ruled line: nothing the readers could not cope with.
        content = "-----\nNghi phép".encode("cp1258")
        (entry,) = self.entries(write(tmp_path, {"leave.txt": content}))
        upload = read_upload(entry)
        assert (upload.content, upload.file_name, entry.external_id) == (content, "leave.txt", "hr/leave.txt")

    def test_read_front_matter_in_utf_16(self, tmp_path: Path) -> None:
        (entry,) = self.entries(write(tmp_path, {"a.md": "---\nscope: private\n---\nx".encode("utf-16")}))
        assert entry.fields.scope == "private"

    @each_case(
        ("content", "fault"),
        [
            ("---\nscope: secret\n---\nx", "scope: Input should be"),
            ("---\nlayout: post\n---\nx", "layout: there is no such key; allowed are external_id, title"),
            ("---\nscope private\n---\nx", "is not 'key: value'"),
            ("---\nscope: private\n", "between two lines"),
            ("---\ntitle: Nghỉ phép\n---\nx".encode("cp1258", "replace").replace(b"?", b"\xd0"), "not UTF-8"),
        ],
    )
    def test_with_wrong_front_matter_have_a_fault(self, tmp_path: Path, content: str | bytes, fault: str) -> None:
        bad, good = self.entries(write(tmp_path, {"bad.md": content, "good.md": "x"}))
        assert fault in bad.fault and not good.fault

    def test_of_json_lines_are_one_each_and_a_bad_line_spoils_no_other(self, tmp_path: Path) -> None:
        lines = [
            json.dumps({"external_id": "a", "text": "Một\u2028hai", "scope": "public"}, ensure_ascii=False),
            "",
            "{",
            json.dumps({"text": "x"}),
            json.dumps({"external_id": "b", "text": 5}),
            json.dumps({"external_id": "c", "text": "x", "colour": "red"}),
            json.dumps({"url": "https://x.example/d", "text": "d"}),
        ]
        entries = self.entries(write(tmp_path, {"faq.jsonl": "\n".join(lines)}))
        assert [entry.external_id for entry in entries if not entry.fault] == ["a", "https://x.example/d"]
        assert read_upload(entries[0]).text == "Một\u2028hai"
        assert [entry.fault.split(":")[0] for entry in entries if entry.fault] == [
            "line 3", "external_id", "line 5", "colour",
        ]  # fmt: skip

    def test_that_would_be_one_document_are_all_refused(self, tmp_path: Path) -> None:
        files = {"a/x.md": "---\nexternal_id: one\n---\nx", "b/x.md": "---\nexternal_id: one\n---\ny", "c.md": "z"}
        first, second, third = sorted(self.entries(write(tmp_path, files)), key=lambda entry: entry.name)
        assert "a/x.md, b/x.md" in first.fault and second.fault == first.fault and not third.fault

    def test_swapped_for_a_link_after_they_were_listed_are_not_read(self, tmp_path: Path) -> None:
        root = write(tmp_path / "docs", {"a.pdf": b"x"})
        secret = write(tmp_path / "outside", {"secret": "x"}) / "secret"
        (entry,) = self.entries(root)
        entry.source.path.unlink()
        entry.source.path.symlink_to(secret)
        with pytest.raises(OSError, match="symbolic"):
            read_upload(entry)


class TestFrontMatter:
    @given(st.text())
    def test_never_breaks_on_any_text(self, text: str) -> None:
        try:
            found = front_matter(text)
        except ValueError:
            return
        assert found is None or text.removeprefix("\ufeff").startswith("---")
