"""What is loaded from the built-in list and from installed packages, and what is refused."""

import re
from pathlib import Path

import pytest

from app import plugins
from app.plugins import PluginError, entries_of, load_plugins
from tests.plugin_samples import install

GROUP = "conclave.tests"
BUILT_IN = {"path": "pathlib:PurePath.__doc__"}


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Sample":
    return Sample(tmp_path, monkeypatch)


class Sample:
    """Installs one plug-in of the group `GROUP`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self._folder, self._monkeypatch = folder, monkeypatch

    def __call__(self, line: str, source: str = "TEXT = 'sample'\n") -> None:
        module = "conclave_sample"
        install(self._folder, self._monkeypatch, module=module, source=source, entry_points={GROUP: line})


class TestPlugins:
    def test_are_the_built_in_ones_and_then_those_of_installed_packages(self, sample: Sample) -> None:
        sample("another = conclave_sample:TEXT")
        found = load_plugins(GROUP, BUILT_IN, str)
        assert list(found.found) == ["path", "another"] and found.found["another"] == "sample" and not found.missing

    def test_are_missing_where_a_library_of_theirs_is_not_installed(self, sample: Sample) -> None:
        sample("another = conclave_sample:TEXT [extra]", "import a_library_nobody_has.part\n")
        found = load_plugins(GROUP, BUILT_IN, str)
        assert list(found.found) == ["path"]
        assert found.missing == {"another": "needs the library a_library_nobody_has: install conclave_sample[extra]"}

    @pytest.mark.parametrize(
        ("line", "source", "reason"),
        [
            ("path = conclave_sample:TEXT", "TEXT = ''", "two plug-ins are called path; .* from conclave_sample"),
            ("another = conclave_sample:TEXT", "TEXT = 7", "from conclave_sample.* is a int, not a str"),
            ("another = conclave_sample:NOTHING", "", "cannot be imported: AttributeError"),
            ("another = conclave_sample.no:TEXT", "", "cannot be imported: No module named"),
            ("another = conclave_sample:TEXT", "raise RuntimeError('broken')", "RuntimeError: broken"),
        ],
    )
    def test_are_refused_with_their_name_and_package(self, sample: Sample, line: str, source: str, reason: str) -> None:
        sample(line, source)
        with pytest.raises(PluginError) as refused:
            load_plugins(GROUP, BUILT_IN, str)
        assert GROUP in refused.value.detail and re.search(reason, refused.value.detail)

    def test_of_an_extra_that_is_left_out_are_not_looked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        left_out = {"python": "extras.nothing.tool:PYTHON", "own": "extras.nowhere:SERVERS"}
        monkeypatch.setattr(plugins, "_declared", lambda: {GROUP: left_out})
        assert entries_of(GROUP) == []
