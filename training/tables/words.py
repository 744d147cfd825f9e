"""Fits what is learnt of words: operations, signs, roles of columns, and how rare a word is."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from training.tables import lexicon as lex
from training.tables.data import HERE
from training.tables.labels import Read
from training.tables.lexicon import OPERATIONS, ROLES, SIGNS, Lexicon, Numbers, words_of
from training.tables.spelling import tokens

_LEAST_QUALITY, _WHOLE = 0.3, 0.8
"""How much of a value must be said so that its surroundings are learnt from, and so that its words are its own."""
EMPTY = Lexicon({}, np.zeros(0), {}, {}, np.zeros(0), np.zeros(0), np.zeros(0), {}, {})
"""Of somebody who has learnt nothing."""


def softmax_fit(
    rows: list[list[int]],
    extra: Numbers | None,
    labels: Numbers,
    width: int,
    classes: int,
    l2: float,
    l2_extra: float = 1.0,
) -> Numbers:
    """Multinomial logistic regression over words that are there or not, and dense columns."""
    x = np.zeros((len(rows), width), dtype=np.float32)
    for at, row in enumerate(rows):
        x[at, row] = 1
    dense = np.ones((len(rows), 1)) if extra is None else np.hstack([extra, np.ones((len(rows), 1))])
    x = np.hstack([x, dense.astype(np.float32)])
    y = np.asarray(labels, dtype=np.float64) if labels.ndim == 2 else np.eye(classes)[labels.astype(int)]
    penalty = np.concatenate([np.full(width, l2), np.full(dense.shape[1] - 1, l2_extra), [1e-3]])[:, None]

    def loss(flat: Numbers) -> tuple[float, Numbers]:
        w = flat.reshape(-1, classes)
        scores = (x @ w.astype(np.float32)).astype(np.float64)
        if labels.ndim == 2:
            lost, chances = float((np.logaddexp(0, scores) - y * scores).sum()), 1 / (1 + np.exp(-scores))
        else:
            logs = lex.log_softmax(scores)
            lost, chances = float(-(y * logs).sum()), np.exp(logs)
        grad = x.T @ (chances - y).astype(np.float32) + penalty * w
        return lost + float(0.5 * (penalty * w * w).sum()), np.asarray(grad, dtype=np.float64).ravel()

    start = np.zeros(x.shape[1] * classes)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 50}).x).reshape(
        -1, classes
    )


def lexicon_of(reads: Sequence[Read]) -> Lexicon:
    """Everything learnt of words."""
    answered = [one for one in reads if one.question.result is not None]
    ngrams = _ngrams(answered)
    rows = [[ngrams[g] for g in set(lex.ngrams_of(one.anchors)) if g in ngrams] for one in answered]
    vectors = np.array([one.near.question * lex.VECTOR_SCALE for one in answered])

    def fitted(labels: Numbers, classes: int) -> Numbers:
        return softmax_fit(rows, vectors, labels, len(ngrams), classes, 1.0)

    operations = fitted(np.array([one.operation for one in answered]), len(OPERATIONS))
    states = fitted(
        np.array([[float(kind in kinds_in(one)) for kind in lex.STATES] for one in answered]), len(lex.STATES)
    )
    attributes = {
        name: fitted(np.array([attributes_in(one)[name] for one in answered]), len(classes))
        for name, classes in lex.ATTRIBUTES.items()
    }
    cases = [*(case for one in answered for case in _signed(one)), *exemplars() * 2]
    columns = [(words, roles) for one in answered for words, roles in named_columns(one)]
    held = Counter(word for words, _ in [*cases, *columns] for word in set(words))
    contexts = {word: at for at, word in enumerate(sorted(w for w, n in held.items() if n > 1))}

    def around(told: Sequence[list[str]], labels: Numbers, classes: int) -> Numbers:
        own = [[contexts[word] for word in set(words) if word in contexts] for words in told]
        return softmax_fit(own, None, labels, len(contexts), classes, 0.5)

    signs = around([words for words, _ in cases], np.array([label for _, label in cases]), len(SIGNS))
    roles = np.array([[float(role in roles) for role in ROLES] for _, roles in columns])
    places = around([words for words, _ in columns], roles, len(ROLES))
    return Lexicon(
        ngrams=ngrams, operations=operations, attributes=attributes, contexts=contexts, signs=signs, places=places,
        states=states, pairs=pairs_of(answered), rarity=_rarity(reads),
    )  # fmt: skip


def _ngrams(reads: Sequence[Read]) -> dict[str, int]:
    """The words in a row that stand in questions to more than one file."""
    files: dict[str, set[str]] = defaultdict(set)
    for one in reads:
        for gram in lex.ngrams_of(one.anchors):
            files[gram].add(one.question.file)
    return {gram: at for at, gram in enumerate(sorted(gram for gram, own in files.items() if len(own) > 1))}


def _signed(one: Read) -> list[tuple[list[str], int]]:
    """The words around every value, number and time of a question, with its sign."""
    cases: list[tuple[list[str], int]] = []
    seen: set[tuple[str, frozenset[int]]] = set()
    for anchor in one.anchors.all if one.gold is not None else ():
        kind = "value" if anchor.kind == "not" else anchor.kind
        if not anchor.places or (kind, anchor.places) in seen or anchor.quality < _LEAST_QUALITY:
            continue
        seen.add((kind, anchor.places))
        gold = [g for g in one.gold or () if g.places == anchor.places]
        own = [g for g in gold if ("value" if g.kind == "not" else g.kind) == kind]
        if own or kind != "value":
            cases.append((lex.context_of(one.anchors, anchor), SIGNS.index(own[0].sign) if own else 0))
    return cases


def _rarity(reads: Sequence[Read]) -> dict[str, float]:
    """0 for words that stand in questions to every file, towards 1 for those of few."""
    used: dict[str, set[str]] = defaultdict(set)
    for one in reads:
        values = {at for a in one.anchors.values if a.quality * a.spelling > _WHOLE for at in a.places}
        for at, token in enumerate(one.anchors.said):
            if at not in values:
                used[token.key].add(one.question.file)
    every = math.log(1 + len({one.question.file for one in reads}))
    return {word: round(1 - math.log(1 + len(own)) / every, 2) for word, own in used.items() if len(own) > 1}


def attributes_in(read: Read) -> dict[str, int]:
    """The number of each attribute of the right query."""
    name, sql = OPERATIONS[read.operation], (read.question.sql or "").upper()
    order = "most" if name.endswith("most") else "least" if name.endswith("least") else ""
    how = name.removesuffix(" by").removesuffix(order).strip()
    if how == "by":
        how = "sum" if "SUM(" in sql else "average" if "AVG(" in sql else "count"
    told = {"how": how, "order": order, "grouped": "yes" if "by" in name.split() else "no"}
    return {key: lex.ATTRIBUTES[key].index(value) for key, value in told.items()}


def named_columns(read: Read) -> list[tuple[list[str], set[str]]]:
    """The words around each column that the question names, and its roles."""
    said = [token.key for token in read.anchors.said]
    found = []
    for column, roles in zip(read.sheet.columns, read.roles, strict=True):
        how = lex.named(read.anchors, column, {}, EMPTY)
        if how.places:
            found.append((lex.words_around("column", said, min(how.places), max(how.places)), roles))
    return found


def kinds_in(read: Read) -> set[str]:
    """The kinds of the anchors of the right query."""
    return {one.kind for one in read.gold or ()}


def exemplars() -> list[tuple[list[str], int]]:
    """Words around values, numbers and times, from ``contexts.txt``."""
    found = []
    for line in (HERE / "contexts.txt").read_text("utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        sign, _, listed = line.partition("|")
        for text in listed.split(";"):
            kind = next(name for mark, name in (("{v}", "value"), ("{n}", "number"), ("{t}", "time")) if mark in text)
            said = [token.key for token in tokens(re.sub(r"\{.\}", " 7 ", text))]
            at = said.index("7")
            found.append((lex.words_around(kind, said, at, at), SIGNS.index(sign.strip())))
    return found


def pairs_of(reads: Sequence[Read]) -> dict[str, float]:
    """Words of questions with words of the names of columns they are about, and their log odds."""
    meant: Counter[str] = Counter()
    other: Counter[str] = Counter()
    files: dict[str, set[str]] = defaultdict(set)
    for one in reads:
        words = {token.key for token in one.anchors.said}
        for column, roles in zip(one.sheet.columns, one.roles, strict=True):
            header = {token.key for token in words_of(column)}
            is_meant = bool(roles & {"measure", "group", "filter"}) or ("shown" in roles)
            for word in words:
                for name in header:
                    (meant if is_meant else other)[f"{word} {name}"] += 1
                    if is_meant:
                        files[f"{word} {name}"].add(one.question.file)
    found = {}
    for pair, n in meant.items():
        if n > 1 and len(files[pair]) > 1:
            odds = math.log((n + 0.5) / (other[pair] + 2.0)) + 0.5
            if odds > 0.3:
                found[pair] = round(odds, 2)
    return found
