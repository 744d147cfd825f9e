"""The readers that are plugged in are those of kinds there are; without them such a file is unsupported."""

from types import FunctionType

import pytest

from app.ingestion.parsing import DescribedKind, FileKind, ParseFailed, ParseFailure, ParseLimits, reading
from app.plugins import PARSERS, load_plugins
from tests.unit.ingestion.parsing import samples


class TestReaders:
    def test_are_found_by_the_kinds_they_read(self) -> None:
        readers = load_plugins(PARSERS, {}, FunctionType)
        assert set(readers.found) == {"docx", "pptx", "xlsx", "eml", "image", "picture"} and not readers.missing
        assert set(readers.found) <= {*FileKind, *DescribedKind}

    @pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.eml"])
    def test_what_nobody_reads_is_unsupported(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        left = {kind: read for kind, read in reading._READERS.items() if kind in reading._BUILT_IN}
        monkeypatch.setattr(reading, "_READERS", left)
        with pytest.raises(ParseFailed) as failure:
            reading.read_file(samples.SAMPLES[name](), FileKind(name.removeprefix("a.")), ParseLimits())
        assert failure.value.code is ParseFailure.UNSUPPORTED
