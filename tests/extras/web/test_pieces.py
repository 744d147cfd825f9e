import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.language import clean
from extras.web.reading import MAX_TEXT_CHARS, Piece, pieces_of


class TestPiecesOf:
    def test_stand_under_their_headings(self) -> None:
        text = "# Leave\n\nTwelve days.\n\n## Carrying over\n\nFive days.\nUntil March.\n\n# Sick leave\n\nTell us."
        assert pieces_of(text) == [
            Piece("Twelve days.", "Leave"),
            Piece("Five days.\nUntil March.", "Leave › Carrying over"),
            Piece("Tell us.", "Sick leave"),
        ]

    def test_short_paragraphs_grow_together(self) -> None:
        assert pieces_of("One.\n\nTwo.") == [Piece("One.\n\nTwo.")]

    def test_long_paragraphs_are_cut_between_sentences(self) -> None:
        sentences = [f"Sentence number {at} says something." for at in range(100)]
        pieces = pieces_of(" ".join(sentences))
        assert len(pieces) > 3
        assert all(piece.text.startswith("Sentence") and piece.text.endswith(".") for piece in pieces)

    def test_a_cut_table_keeps_its_header(self) -> None:
        rows = [f"| reason {at} | {at} days |" for at in range(200)]
        pieces = pieces_of("\n".join(["| Reason | Days |", "|---|---|", *rows]))
        assert len(pieces) > 2
        assert all(piece.text.startswith("| Reason | Days |\n|---|---|\n| reason") for piece in pieces)

    @pytest.mark.parametrize("text", ["", " \n\n ", "# Only a heading"])
    def test_nothing_gives_nothing(self, text: str) -> None:
        assert pieces_of(text) == []

    @given(st.text(st.sampled_from("ab.! \n#|-é") | st.characters(), max_size=3_000))
    def test_pieces_are_short_and_lose_no_letter(self, text: str) -> None:
        pieces = pieces_of(text)
        assert all(0 < len(piece.text) <= 2_000 for piece in pieces)
        if "#" not in text and "|" not in text:
            assert "".join("".join(piece.text.split()) for piece in pieces) == "".join(clean(text).split())

    def test_reads_no_further_than_its_limit(self) -> None:
        assert sum(len(piece.text) for piece in pieces_of("word " * MAX_TEXT_CHARS)) <= MAX_TEXT_CHARS
