"""`python -m training.reader.cross_data`: the data of `training.reader.cross`, as one file of arrays.

Documents are cut by the service's own chunker and into its own pieces. What the frozen lower layers make of every
question and piece is computed once, by the engine and in the precision of the service. Companies train, `studio` and
the XQuAD articles with an odd number only check.
"""

import argparse
import asyncio
import json
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnx import helper

from app.domain.knowledge import DocumentDraft, Passage
from app.embedding import onnx_graph
from app.embedding.onnx import OnnxEmbedder
from app.embedding.weights import Weights
from app.ingestion.chunk import chunk
from app.ingestion.passages import as_passage
from app.ingestion.seed import read_seed
from app.reasoning.local.cross_reader import Encoded, encoded_piece, encoded_question
from app.reasoning.local.features import Candidate, candidates_of
from app.reasoning.local.plain_reader import PlainReader
from app.reasoning.reader import ReadRequest
from app.retrieval.calibration import load_calibration
from app.text.language import content_words, fold, is_unaccented_vietnamese, normalise

SEED = 20_261_123
COMPANIES = ("bank", "factory", "school", "shops", "studio")
HELD_OUT = "studio"
_PASSAGES, _CANDIDATES, _NEGATIVES = 8, 16, 20
_NOT_WORDS = re.compile(r"[\W_]+")
Numbers = npt.NDArray[np.float32]


@dataclass
class Corpus:
    """The passages and pieces of one company or language, with their vectors."""

    name: str
    passages: list[Passage]
    vectors: Numbers
    candidates: list[Candidate]
    at: list[int]
    """Place of each candidate among all pieces of the file."""
    of_passage: dict[str, list[int]]
    bags: list[frozenset[str]] = field(default_factory=list)


@dataclass
class Question:
    """A question with what answers it among its corpus' candidates."""

    kind: str
    text: str
    language: str
    corpus: str
    row: str
    right: list[int]
    near: list[int]
    unusable: frozenset[int]
    """Candidates that state a fact of the answer though no quote names them."""
    trains: bool
    answerable: bool


class Lower:
    """Runs all layers of the bundled model; gives the states after the K-th and the mean of the last."""

    def __init__(self, layers: int, embedder: OnnxEmbedder):
        self.weights, self.tokenizer = embedder._weights, embedder._tokenizer
        self._session = onnxruntime.InferenceSession(_both(self.weights, layers), _options())
        self._pool = ThreadPoolExecutor(2)

    def run(self, encoded: Sequence[Encoded]) -> tuple[list[npt.NDArray[np.float16]], Numbers]:
        """(states of each text, its normalised vector)."""
        found = list(self._pool.map(self._one, encoded))
        return [states for states, _ in found], np.stack([pooled for _, pooled in found])

    def _one(self, text: Encoded) -> tuple[npt.NDArray[np.float16], Numbers]:
        words = self.weights.word_rows(np.array(text.ids))[np.newaxis]
        states, pooled = self._session.run(None, {onnx_graph.INPUT: words})
        return states[0].astype(np.float16), pooled[0] / np.linalg.norm(pooled[0])


def _options() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return options


def _both(weights: Weights, layers: int) -> bytes:
    graph = onnx_graph.Graph(weights, [], [])
    state = graph.norm(onnx_graph.positioned(graph), "emb.ln")
    outputs = []
    for layer in range(weights.shape.layers):
        state = onnx_graph.layer(graph, state, f"l{layer}")
        if layer + 1 == layers:
            outputs.append(helper.make_tensor_value_info(state, 1, [1, "tokens", weights.shape.hidden]))
    pooled = graph.node("ReduceMean", state, graph.constant("pooled axis", np.array([1])), keepdims=0)
    outputs.append(helper.make_tensor_value_info(pooled, 1, [1, weights.shape.hidden]))
    entry = helper.make_tensor_value_info(onnx_graph.INPUT, 1, [1, "tokens", weights.shape.hidden])
    body = helper.make_graph(graph.nodes, "e5", [entry], outputs, graph.constants)
    domains = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return bytes(helper.make_model(body, opset_imports=domains, ir_version=10).SerializeToString())


def passages_of(drafts: Sequence[DocumentDraft], embedder: OnnxEmbedder) -> list[tuple[Passage, str]]:
    """Every passage as it would be stored, with the text it is found by."""
    found = []
    for draft in drafts:
        for piece in chunk(draft.text, draft.title, count_tokens=embedder.count_tokens):
            text = as_passage(draft.title, draft.lang, piece).text
            name = uuid5(NAMESPACE_URL, f"{draft.external_id}/{piece.position}")
            found.append((Passage(
                chunk_id=name, document_id=name, external_id=draft.external_id, title=draft.title,
                section=piece.section, text=piece.text, url=draft.url, department=draft.department, scope=draft.scope,
                language=draft.lang, created_at=draft.created_at, effective_from=None, effective_to=None,
                authority="policy", similarity=0, text_rank=0, relevance_score=0, fused_score=0,
            ), text))  # fmt: skip
    return found


def bare(text: str) -> str:
    """Words in lower case, nothing else."""
    return _NOT_WORDS.sub(" ", normalise(text).lower()).strip()


def matching(corpus: Corpus, document: str, quote: str) -> list[int]:
    """Candidates of a document that are the quote, hold it, or are part of it."""
    wanted = bare(quote)
    found = []
    for at in corpus.of_passage.get(document, ()):
        own = bare(corpus.candidates[at].unit.text)
        if wanted in own or (own in wanted and len(own) * 3 > len(wanted)):
            found.append(at)
    return found


def company_questions(corpus: Corpus, rows: Sequence[dict[str, Any]], trains: bool) -> Iterator[Question]:
    """Three wordings a row."""
    for row in rows:
        right = [at for one in row["answers"] for at in matching(corpus, one["document"], one["quote"])]
        near = [at for one in row["near_misses"] for at in matching(corpus, one["document"], one["quote"])]
        if row["answerable"] and not right:
            continue
        facts = [bare(fact) for ways in row["facts"] for fact in ways if len(bare(fact)) > 2]
        states = frozenset(
            at
            for at, one in enumerate(corpus.candidates)
            if any(f" {fact} " in f" {bare(one.unit.text)} " for fact in facts)
        )
        near = sorted(set(near) - set(right))
        for number, text in enumerate(row["wordings"]):
            yield Question(
                f"{corpus.name} {row['language']}", text, row["language"], corpus.name, f"{row['id']}/{number}",
                sorted(set(right)), near, states - set(near) - set(right), trains, bool(row["answerable"]),
            )  # fmt: skip


def xquad_questions(folder: Path, corpora: dict[str, Corpus]) -> Iterator[Question]:
    """Each question of its own passage and of the parallel one; half of them, too, with the passage taken out."""
    rows = [json.loads(line) for line in (folder / "queries.jsonl").open(encoding="utf-8")]
    articles = {
        row["id"]: row["article"]
        for row in (json.loads(line) for line in (folder / "corpus.jsonl").open("r", encoding="utf-8"))
    }
    spans = {(row["lang"], row["parallel"]): row["answers"] for row in rows}
    for row in rows:
        language, own = row["lang"], row["passage_id"]
        other = "en" if language == "vi" else "vi"
        odd = articles[own] % 2
        for told_in, passage in ((language, own), (other, other + own[2:])):
            corpus = corpora[f"xquad {told_in} {odd}"]
            phrases = [bare(answer["text"]) for answer in spans[told_in, row["parallel"]]]
            held = corpus.of_passage.get(passage, [])
            right = [at for at in held if any(phrase in bare(corpus.candidates[at].unit.text) for phrase in phrases)]
            kind = f"xquad {language}" + ("" if told_in == language else f" to {told_in}")
            if right:
                # A sentence that holds the same name need not answer: the first one counts, others are left out.
                yield Question(kind, row["question"], language, corpus.name, row["id"], right, [],
                               frozenset(), not odd, True)  # fmt: skip
                if zlib.crc32(row["id"].encode()) % 3 == 0 and told_in == language:
                    yield Question(kind, row["question"], language, corpus.name, f"{row['id']}/hidden", [], [],
                                   frozenset(held), not odd, False)  # fmt: skip


def mistyped(text: str, chance: random.Random) -> str:
    """Two letters swapped, doubled or dropped, or all in lower case without a question mark."""
    if chance.random() < 0.4:
        return text.lower().rstrip("?. ")
    letters = list(text)
    for _ in range(1 + len(text) // 40):
        at = chance.randrange(1, max(2, len(letters) - 2))
        match chance.randrange(3):
            case 0:
                letters[at : at + 2] = reversed(letters[at : at + 2])
            case 1:
                letters.insert(at, letters[at])
            case _:
                letters.pop(at)
    return "".join(letters)


class Search:
    """Finds passages and pieces about as the service does: centred cosine and share of rare words, one relevance."""

    def __init__(self, model: str, corpora: dict[str, Corpus]):
        self._calibration = load_calibration(model)
        self._corpora = corpora
        self._vectors: dict[str, Numbers] = {}
        self._rarity: dict[str, dict[str, float]] = {}
        for name, one in corpora.items():
            languages = [passage.language for passage in one.passages]
            self._vectors[name] = self._calibration.centre_passages(one.vectors, languages)
            one.bags = [frozenset(map(fold, content_words(f"{p.title} {p.section} {p.text}"))) for p in one.passages]
            known: dict[str, int] = defaultdict(int)
            for bag in one.bags:
                for word in bag:
                    known[word] += 1
            self._rarity[name] = {word: float(np.log((len(one.bags) + 1) / count)) for word, count in known.items()}

    def passages(self, question: Question, vector: Numbers, hidden: frozenset[str]) -> list[Passage]:
        """The best passages, with their scores."""
        corpus, rarity = self._corpora[question.corpus], self._rarity[question.corpus]
        centred = self._calibration.centre_queries(vector[None], [question.language])[0]
        similar = self._vectors[question.corpus] @ centred
        asked = {word: rarity.get(word, 5.0) for word in map(fold, content_words(question.text))}
        total, folded = sum(asked.values()) or 1.0, is_unaccented_vietnamese(question.text)
        scored = []
        for at, (passage, bag) in enumerate(zip(corpus.passages, corpus.bags, strict=True)):
            share = sum(weight for word, weight in asked.items() if word in bag) / total
            same = passage.language == question.language
            score = self._calibration.relevance(float(similar[at]), share, same_language=same, unaccented=folded)
            if passage.external_id not in hidden:
                scored.append((score, at))
        best = sorted(scored, reverse=True)[:_PASSAGES]
        return [
            corpus.passages[at].model_copy(update={"similarity": float(similar[at]), "relevance_score": score})
            for score, at in best
        ]


def encode_all(lower: Lower, texts: Sequence[Encoded], out: dict[str, Any], name: str) -> Numbers:
    """Put the states of all texts end to end into `out`; their vectors."""
    states, vectors = lower.run(texts)
    out[f"{name}_states"] = np.concatenate(states)
    out[f"{name}_segments"] = np.concatenate([np.array(one.segments, np.uint8) for one in texts])
    out[f"{name}_ends"] = np.cumsum([len(one.ids) for one in texts])
    out[f"{name}_vectors"] = vectors.astype(np.float32)
    return vectors.astype(np.float32)


async def corpora_of(given: argparse.Namespace, embedder: OnnxEmbedder) -> dict[str, Corpus]:
    """Every company, and XQuAD by language and half."""
    drafts: dict[str, list[DocumentDraft]] = {}
    for name in COMPANIES:
        drafts[name] = [one for tenant in read_seed(given.companies / name).tenants for one in tenant.documents]
    with (given.eval / "xquad" / "corpus.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            drafts.setdefault(f"xquad {row['lang']} {row['article'] % 2}", []).append(DocumentDraft(
                title="", text=row["text"], url=f"https://bench.example/{row['id']}", department="general",
                scope="public", created_at=datetime(2026, 1, 1, tzinfo=UTC), external_id=row["id"], lang=row["lang"],
            ))  # fmt: skip
    corpora: dict[str, Corpus] = {}
    start = 0
    for name, documents in drafts.items():
        found = passages_of(documents, embedder)
        passages = [passage for passage, _ in found]
        candidates = candidates_of(passages)
        vectors = await embedder.embed_passages([text for _, text in found])
        of_passage: dict[str, list[int]] = defaultdict(list)
        for at, one in enumerate(candidates):
            of_passage[one.passage.external_id].append(at)
        at = list(range(start, start + len(candidates)))
        corpora[name] = Corpus(name, passages, vectors, candidates, at, of_passage)
        start += len(candidates)
        print(name, len(passages), "passages", len(candidates), "pieces", flush=True)
    return corpora


def questions_of(given: argparse.Namespace, corpora: dict[str, Corpus]) -> list[Question]:
    """All questions with what answers them."""
    found: list[Question] = []
    for name in COMPANIES:
        rows = []
        for path in (given.companies / name / "questions.jsonl", given.more / f"{name}.jsonl"):
            if path.exists():
                rows += [json.loads(line) for line in path.open(encoding="utf-8") if line.strip()]
        own = list(company_questions(corpora[name], rows, name != HELD_OUT))
        answerable = sum(3 for row in rows if row["answerable"])
        print(
            name,
            len(rows),
            "rows",
            len(own),
            "questions",
            sum(one.answerable for one in own),
            "of",
            answerable,
            flush=True,
        )
        found += own
    xquad = list(xquad_questions(given.eval / "xquad", corpora))
    return found + [one for at, one in enumerate(xquad) if one.trains or at % 4 == 0]


async def main_of(given: argparse.Namespace) -> None:
    """Cut, encode, search, write."""
    embedder = OnnxEmbedder.open(given.models)
    lower = Lower(given.layers, embedder)
    corpora = await corpora_of(given, embedder)
    out: dict[str, Any] = {}
    pieces = [encoded_piece(lower.tokenizer, lower.weights, one) for c in corpora.values() for one in c.candidates]
    vectors = encode_all(lower, pieces, out, "piece")
    print("pieces read", len(pieces), np.mean([len(one.ids) for one in pieces]), datetime.now(), flush=True)
    questions = questions_of(given, corpora)
    texts, groups = [], []
    for one in questions:
        chance = random.Random(zlib.crc32(one.row.encode()) + SEED)
        spellings = [one.text]
        unaccented = one.language == "vi" and not is_unaccented_vietnamese(one.text)
        if one.trains:
            spellings.append(mistyped(one.text, chance))
        if unaccented:
            spellings.append(fold(one.text))
        groups.append({"first": len(texts), "count": len(spellings), "folds": unaccented})
        texts += spellings
    asked = encode_all(
        lower, [encoded_question(lower.tokenizer, lower.weights, text) for text in texts], out, "question"
    )
    print("questions read", len(texts), datetime.now(), flush=True)
    search = Search(embedder.model, corpora)
    reader = PlainReader(embedder)
    written: list[dict[str, Any]] = []
    for one, group in zip(questions, groups, strict=True):
        corpus = corpora[one.corpus]
        if one.trains:
            vector = asked[group["first"]]
            written.append(group | _train_group(one, corpus, vectors[corpus.at[0] : corpus.at[-1] + 1] @ vector))
            continue
        for folded in (False, True) if group["folds"] else (False,):
            at = group["first"] + (group["count"] - 1 if folded else 0)
            kind = one.kind + (" unaccented" if folded else "")
            if folded and " to " in kind:
                continue
            text = texts[at]
            seen = Question(kind, text, one.language, one.corpus, one.row, one.right, one.near, one.unusable, False, one.answerable)  # fmt: skip
            written.append(await _dev_group(seen, at, corpus, search, reader, asked[at], vectors))
    np.savez(given.out, **out)
    given.out.with_suffix(".json").write_text(json.dumps(written), "utf-8")
    print("written", len(written), "groups", datetime.now(), flush=True)


def _train_group(one: Question, corpus: Corpus, cosines: Numbers) -> dict[str, Any]:
    """Right pieces, near misses and the hardest others by cosine and by shared words, as places among all pieces."""
    asked = set(map(fold, content_words(one.text)))
    shared = np.array([len(asked & words) for words in _piece_words(corpus)], np.float32) + cosines
    barred = set(one.right) | set(one.unusable) | set(one.near)
    ranked: list[int] = []
    for by_cosine, by_words in zip(np.argsort(-cosines)[:40].tolist(), np.argsort(-shared)[:40].tolist(), strict=True):
        ranked += [by_cosine, by_words]
    beside = [at for right in one.right for at in range(max(0, right - 3), min(len(cosines), right + 4))]
    hard = [at for at in dict.fromkeys(ranked) if at not in barred][:_NEGATIVES]
    hard += [at for at in dict.fromkeys(beside) if at not in barred and at not in hard]
    at = corpus.at
    return {
        "kind": one.kind, "trains": True, "right": [at[n] for n in one.right], "near": [at[n] for n in one.near],
        "hard": [at[n] for n in hard],
    }  # fmt: skip


_WORDS: dict[str, list[frozenset[str]]] = {}


def _piece_words(corpus: Corpus) -> list[frozenset[str]]:
    if corpus.name not in _WORDS:
        _WORDS[corpus.name] = [frozenset(map(fold, content_words(one.text))) for one in corpus.candidates]
    return _WORDS[corpus.name]


async def _dev_group(
    one: Question, at: int, corpus: Corpus, search: Search, reader: PlainReader, vector: Numbers, vectors: Numbers
) -> dict[str, Any]:
    """The pieces a reader would be given, in the plain scorer's order, with its scores."""
    hidden = frozenset()
    if not one.answerable and one.row.endswith("/hidden"):
        hidden = frozenset(corpus.candidates[n].passage.external_id for n in one.unusable)
    passages = search.passages(one, vector, hidden)
    candidates = candidates_of(passages)
    request = ReadRequest(question=one.text, language=one.language, passages=tuple(passages))
    measured = await reader.measure(request, one.text, candidates)
    places = {(c.passage.chunk_id, c.unit.start): corpus.at[n] for n, c in enumerate(corpus.candidates)}
    held = [places[c.passage.chunk_id, c.unit.start] for c in measured.candidates]
    right = {corpus.at[n] for n in one.right}
    return {
        "kind": one.kind, "trains": False, "first": at, "count": 1, "answerable": one.answerable, "row": one.row,
        "found": len(right & set(held)), "pieces": held[:_CANDIDATES], "right": [int(n in right) for n in held[:_CANDIDATES]],
        "plain": [float(score) for score in measured.answers[:_CANDIDATES]], "confidence": reader.confidence(measured),
        "cosine": [float(vectors[n] @ vector) for n in held[:_CANDIDATES]],
        "all_cosine_right": bool(held and int(max(held, key=lambda n: float(vectors[n] @ vector)) in right)),
    }  # fmt: skip


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--companies", type=Path, default=Path("bench/companies"))
    parser.add_argument("--eval", type=Path, default=Path("../../shared/eval"))
    parser.add_argument("--more", type=Path, default=Path("/tmp/more-questions"))
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--layers", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(".conclave/cross/data.npz"))
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    asyncio.run(main_of(given))


if __name__ == "__main__":
    main()
