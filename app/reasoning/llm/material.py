"""What the writer of an answer is told: the best passages, what was computed and weighed, the conversation."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import uuid5

from app.domain.knowledge import Passage, Quote
from app.reasoning import ComposeRequest
from app.reasoning.llm.telling import PASSAGES, around, asker, cut, line, passages_told
from app.text.language import clean


class Profile(NamedTuple):
    """How much a model is told at a time."""

    prompt: str
    passages: int
    read_chars: int
    """Of all passages together; of one at most and at least the next two. The best ones get most."""
    passage_chars: int
    least_chars: int
    messages: int
    """Of the conversation, each cut to so many characters."""
    message_chars: int
    mends: bool
    """Whether it is asked once more for statements nothing supports."""


FULL = Profile("compose", PASSAGES, 4_800, 1_200, 220, 4, 1_200, mends=True)
SMALL = Profile("compose_small", 6, 1_000, 300, 110, 2, 160, mends=False)
"""For models on a CPU, which read some hundred tokens a second: at most 1,200 of them."""


def shown(request: ComposeRequest, most: int = PASSAGES) -> tuple[Quote, ...]:
    """What the writer is shown of what was read, in its numbers: the best pieces, else what findings quote."""
    quoted = (quote for finding in request.findings for quote in finding.quotes if finding.found)
    chosen = {quote.passage.chunk_id: quote for quote in (*quoted, *request.read)}
    order = dict.fromkeys(quote.passage.chunk_id for quote in request.read) or chosen
    return tuple(chosen[chunk] for chunk in [*order][:most])


def own_words(request: ComposeRequest, most: int) -> tuple[Passage, ...]:
    """What the asker said in the conversation, as a source of a draft; none where nothing is edited."""
    said = [one.content for one in request.history if one.role == "user"]
    like = next((quote.passage for quote in request.read), None)
    if not request.edits or like is None:
        return ()
    text = clean("\n".join([*said[-most:], request.asked]))
    return (like.model_copy(update={"text": text, "title": "", "section": "", "chunk_id": uuid5(like.chunk_id, text)}),)


def answer_material(request: ComposeRequest, profile: Profile = FULL) -> str:
    """The passages with their numbers, what was computed and weighed, the conversation, and the question."""
    weighed = [
        line(holds=point.winner, title=point.winner_title, against=point.loser, title_against=point.loser_title,
              why=point.reason, decided=point.decided)
        for point in request.conflicts
    ]  # fmt: skip
    lines = [*_passages(request, profile, sum(map(len, weighed)))]
    lines += [line(computation=text) for text in request.computations]
    lines += [line(could_not=text) for text in request.refusals]
    lines += weighed
    lines += [line(agents_without_answer=list(request.failed_agents))] if request.failed_agents else []
    said = [one for one in request.history if clean(one.content).strip()][-profile.messages :]
    lines += [line(**{one.role: cut(one.content, profile.message_chars)}) for one in said]
    told = {**asker(request.today, request.department), "question": request.asked or request.query}
    meant = {"meant": request.query} if request.asked and request.asked != request.query else {}
    edits = {"edits": True} if request.edits else {}
    return "\n".join([*lines, line(**told, **meant, **edits)])


def unsupported(request: ComposeRequest, statements: Sequence[str], profile: Profile = FULL) -> str:
    """The passages, the question, and statements of an answer that they do not seem to hold."""
    told = [line(n=number, statement=text) for number, text in enumerate(statements, 1)]
    return "\n".join([*_passages(request, profile), line(question=request.query), *told])


def _passages(request: ComposeRequest, profile: Profile, taken: int = 0) -> list[str]:
    """What the writer reads beside `taken` characters, each cut around its likeliest piece: the best ones longest."""
    texts, left, read = list[str](), profile.read_chars - taken, shown(request, profile.passages)
    for number, quote in enumerate(read, 1):
        least = profile.least_chars
        most = max(min(left - (len(read) - number) * least, profile.passage_chars), least)
        text = around(quote.passage.text, quote.text, most)
        left -= len(text)
        texts.append(text)
    return passages_told([quote.passage for quote in read], texts)
