"""Trees and network as they are read say what the libraries that fitted them say; a fit goes through from examples to
weight files."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from app.embedding import ASKED, CONTEXT, PIECE, Tokens
from app.embedding.onnx import OnnxEmbedder
from app.embedding.pairs import EXTRA, KINDS, PairNet, among
from app.reasoning.local.features import FEATURES
from app.reasoning.local.plain_reader import Trees
from app.reasoning.local.rivals import COLUMNS
from bench.cases import Case
from tests.unit.reasoning.local.conftest import seed_passages
from training.reader.data import Example, TokensOnDisk, examples_of, only_checks

WIDE = 6
QUIET = Console(quiet=True)


def training(name: str) -> Any:
    """A module of the training: not imported above, else every process that collects the tests loads the library that
    fits."""
    return import_module(f"training.reader.{name}")


def tokens(chance: np.random.Generator, kinds: list[int]) -> Tokens:
    size = len(kinds)
    states = chance.normal(size=(size, WIDE)).astype(np.float16)
    vector = chance.normal(size=WIDE).astype(np.float32)
    rarity = chance.random(size).astype(np.float32)
    ids = chance.integers(0, 9, size).astype(np.int32)
    return Tokens(ids, rarity, np.array(kinds, np.uint8), states, vector / np.linalg.norm(vector))


def example(number: int, chance: np.random.Generator) -> Example:
    """Twelve pieces; in three of four examples one answers: it shares most with the question."""
    case = Case("company x en", "answerable", f"company {number % 4}", "?", "en", (), (), True)
    features = chance.random((12, len(FEATURES)))
    features[:, -2:] = np.nan
    features[:, 0] *= 0.8
    features[number % 12, 0] += 0.3 * (number % 3 > 0)
    gold = (features[:, 0] > 0.8).astype(float)
    pieces = {at: tokens(chance, [CONTEXT, PIECE, PIECE, CONTEXT]) for at in range(12)}
    return Example(case, number % 5 == 0, features, gold, tokens(chance, [ASKED] * 3), pieces)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    chance = np.random.default_rng(7)
    rows = chance.normal(size=(1500, 6))
    rows[chance.random(rows.shape) < 0.15] = np.nan
    return rows


class TestTrees:
    def test_score_as_the_library_that_fitted_them(self, rows: np.ndarray) -> None:
        labels = (np.nan_to_num(rows[:, 0]) + np.nan_to_num(rows[:, 3]) * np.isnan(rows[:, 1]) > 0.2).astype(float)
        fitted = training("trees").grown([rows], [labels], [1.0], 30)
        trees = training("trees").trees_of(fitted.dump_model()["tree_info"])
        assert trees.score(rows) == pytest.approx(fitted.predict(rows, raw_score=True))
        assert trees.score(rows[:0]).shape == (0,)

    def test_a_single_leaf_is_a_constant(self) -> None:
        trees = training("trees").trees_of([{"tree_structure": {"leaf_value": 0.25}}] * 2)
        assert trees.score(np.zeros((3, 1))).tolist() == [0.5] * 3

    def test_a_fit_writes_weights_that_know_what_answers(self, tmp_path: Path) -> None:
        chance = np.random.default_rng(11)
        examples = [example(number, chance) for number in range(160)]
        own = [one for one in examples if one.case.group != "company 3"]
        trees = training("trees").fit_trees(own, 40)
        checks = [one for one in examples if one.case.group == "company 3"]
        path = tmp_path / "trees.npz"
        training("mixing").finish(
            checks, trees, lambda _, chosen: [np.zeros(len(at)) for at in chosen], "model", path, QUIET
        )
        with np.load(path) as held:
            read = Trees.read(held)
            assert held["with_vectors"][1] > 0 < held["words_alone"][1]
            assert held["mix"].tolist() == [1, 0]
        found = [one for one in examples if one.gold.any()]
        assert np.mean([one.gold[read.score(one.features).argmax()] for one in found]) > 0.9


class TestExamples:
    async def test_are_made_of_passages_as_the_service_reads_them(self, bundled: OnnxEmbedder, tmp_path: Path) -> None:
        passages = seed_passages("acme/general/core-values", "acme/hr/annual-leave-2026")
        text, kind = "Công ty có mấy giá trị cốt lõi?", "company x vi"
        quote = (("Công ty có 4 giá trị cốt lõi: Khách hàng trước tiên, Chính trực, Hợp tác, Kỷ luật.",),)
        right = frozenset({"acme-general-core-values"})
        cases = [
            Case(kind, "answerable", "company x", text, "vi", passages, quote, True, right),
            Case(kind, "unanswerable", "company x", "Sếp tên gì?", "vi", passages, (), False),
        ]
        kept = tmp_path / "tokens.pkl"
        for again in range(2):
            read = TokensOnDisk(bundled if not again else None, kept)  # type: ignore[arg-type]  # reads nothing anew
            asked, other = await examples_of(cases, read, QUIET)
            read.keep()
        assert asked.gold.sum() == 1 and not other.gold.any()
        best = max(asked.pieces, key=asked.cosine)
        assert asked.gold[best] == 1
        assert set(asked.order) == set(asked.pieces)
        assert only_checks(cases[0], "x") and not only_checks(cases[0], "y")


class TestPairs:
    """With torch, where it is installed."""

    def test_numpy_reads_what_torch_learnt(self) -> None:
        torch = pytest.importorskip("torch")
        pairs = pytest.importorskip("training.reader.pairs")
        chance = np.random.default_rng(5)
        examples = [example(number, chance) for number in range(40)]
        net = pairs.fit_pairs(examples, 3, QUIET)
        one = examples[1]
        pieces = [*one.pieces.values(), tokens(chance, [CONTEXT, CONTEXT])]
        read = PairNet({name: row.astype(np.float32) for name, row in pairs.arrays_of(net.half().float()).items()})
        found = read.read(one.question, pieces)
        with torch.inference_mode():
            answers, says = net([(one.question, pieces)])
        assert found.answers == pytest.approx(among(answers.numpy().astype(np.float64)), abs=1e-4)
        assert found.says == pytest.approx(says.softmax(1).numpy(), abs=1e-4)
        assert read.arrays["seg"].shape[0] == KINDS
        assert read.arrays["ext.weight"].shape[1] == EXTRA


class TestRivals:
    async def test_what_was_superseded_and_written_in_pairs_is_learnt(
        self, bundled: OnnxEmbedder, tmp_path: Path
    ) -> None:
        pytest.importorskip("lightgbm")
        companies = Path(__file__).parents[4] / "bench" / "companies"
        read = TokensOnDisk(bundled, tmp_path / "tokens.pkl")
        rivals = training("rivals")
        held = rivals.held_of("bank", companies, bundled.count_tokens)
        assert {"superseded", "agreement", "other_case", ""} <= {one.kind for one in held}
        assert all(one.one.passage.document_id != one.other.passage.document_id for one in held)
        few = [one for kind in ("superseded", "agreement", "") for one in held if one.kind == kind][::25]
        pairs = await rivals.measured_pairs(few, read)
        assert len(pairs) == 2 * len(few) and {len(one.row) for one in pairs} == {len(COLUMNS)}
        assert pairs[0].row[COLUMNS.index("asked_one")] == pairs[1].row[COLUMNS.index("asked_other")]
        trees = rivals.fit_rivals(pairs * 10, 8.0)
        rows, differs = np.array([one.row for one in pairs]), np.array([one.differs for one in pairs])
        assert 0 < differs.sum() < len(differs)
        assert trees.score(rows)[differs].mean() > trees.score(rows)[~differs].mean() + 1
        assert Trees.read(training("trees").stored(trees)).score(rows) == pytest.approx(trees.score(rows))
