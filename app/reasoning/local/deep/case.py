"""A question together with what was found for it, ready to be solved."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.knowledge import Finding
from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.pieces import Piece, pieces_of
from app.reasoning.local.deep.statements import Stated, stated_in
from app.reasoning.local.deep.weighing import Scales, Weighed


@dataclass(frozen=True)
class Case:
    """What is known."""

    inquiry: Inquiry
    pieces: tuple[Piece, ...]
    stated: tuple[Stated, ...]
    scales: Scales

    @classmethod
    def of(cls, inquiry: Inquiry, findings: Sequence[Finding]) -> "Case":
        """Read everything that was quoted."""
        pieces = pieces_of(findings)
        stated = tuple(one for piece in pieces for one in stated_in(piece))
        return cls(inquiry, pieces, stated, Scales(inquiry.terms, pieces, is_bare=inquiry.is_bare, text=inquiry.text))

    def ranked(self, *kinds: str) -> list[Weighed]:
        """The amounts of some kinds that may be meant, the likeliest first; all without kinds."""
        fitting = [one for one in self.stated if not kinds or one.kind in kinds]
        return self.scales.ranked(fitting, self.inquiry.quantities)

    def with_inquiry(self, inquiry: Inquiry) -> "Case":
        """The same findings for another question."""
        return Case(
            inquiry,
            self.pieces,
            self.stated,
            Scales(inquiry.terms, self.pieces, is_bare=inquiry.is_bare, text=inquiry.text),
        )
