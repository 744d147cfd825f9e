"""`python -m training.reader.cross`: trains the upper layers of the cross-encoder `app.reasoning.local.cross_reader`.

Data come from `training.reader.cross_data`. The upper layers of multilingual-e5-small read question and piece together;
they begin as they are in the embedder, with attention between the two damped by a learned number a head, so that the
first logit is about the cosine of both. Seeded, checkpointed, resumable. Needs JAX and optax (CPU).
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from app.embedding.weights import Weights

SEED = 20_261_123
QUESTION, OWN, PADDING = 0, 2, 3
_GROUP, _GROUPS = 6, 4
_LENGTHS = (40, 56, 72, 96)
_DAMPED = 0.0
_HEAD, _BIAS = 10.0, 50.0
"""Learning rates of the head and of the damping, in those of the layers."""
_COMPANIES = 0.65
"""Share of groups that companies' questions make; the others are of XQuAD."""
Params = dict[str, Any]


class Data(NamedTuple):
    """Cached states of pieces and questions, and the groups."""

    arrays: dict[str, Any]
    groups: list[dict[str, Any]]

    def text(self, name: str, at: int) -> tuple[Any, Any]:
        """States and segments of one piece or question."""
        ends = self.arrays[f"{name}_ends"]
        span = slice(int(ends[at - 1]) if at else 0, int(ends[at]))
        return self.arrays[f"{name}_states"][span], self.arrays[f"{name}_segments"][span]

    def batch(self, pairs: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
        """States and segments of questions with pieces, padded to one of a few lengths."""
        parts = [(self.text("question", question), self.text("piece", piece)) for question, piece in pairs]
        longest = max(len(one[1]) + len(other[1]) for one, other in parts)
        size = next(length for length in _LENGTHS if length >= longest)
        states = np.zeros((len(pairs), size, 384), np.float32)
        segments = np.full((len(pairs), size), PADDING, np.int32)
        for at, (one, other) in enumerate(parts):
            middle, end = len(one[1]), len(one[1]) + len(other[1])
            states[at, :middle], states[at, middle:end] = one[0], other[0]
            segments[at, :middle], segments[at, middle:end] = one[1], other[1]
        return states, segments


def initial(weights: Weights, layers: int, seed: int) -> Params:
    """The embedder's upper layers, and a head that begins as the cosine."""
    hidden, chance = weights.shape.hidden, np.random.default_rng(seed)
    names = range(layers, weights.shape.layers)
    params: Params = {"layers": [], "head": {}, "damping": np.full((len(names), weights.shape.heads, 2), _DAMPED)}
    for number in names:
        held = {}
        for part in ("q", "k", "v", "ao", "fi", "fo"):
            held[f"{part}.b"] = weights.vector(f"l{number}.{part}.b")
            held[f"{part}.w"] = weights.matrix(f"l{number}.{part}.w", held[f"{part}.b"].size)
        for part in ("aln", "oln"):
            held |= {f"{part}.{kind}": weights.vector(f"l{number}.{part}.{kind}") for kind in "wb"}
        params["layers"].append(held)
    params["head"] = {
        "segments": np.zeros((3, hidden)),
        "inner.w": chance.normal(0, 0.03, (64, 2 * hidden)), "inner.b": np.zeros(64), "outer.w": np.zeros(64),
        "cosines.w": np.array([10.0, 10.0, 5.0]), "outer.b": np.array(-1.0),
    }  # fmt: skip
    return jax.tree.map(lambda value: jnp.asarray(value, jnp.float32), params)


def _norm(x: Any, scale: Any, shift: Any) -> Any:
    middle = x.mean(-1, keepdims=True)
    spread = ((x - middle) ** 2).mean(-1, keepdims=True)
    return (x - middle) * jax.lax.rsqrt(spread + 1e-12) * scale + shift


def _layer(p: Params, x: Any, bias: Any) -> Any:
    size, length, hidden = x.shape
    heads = bias.shape[1]

    def split(name: str) -> Any:
        return (x @ p[f"{name}.w"].T + p[f"{name}.b"]).reshape(size, length, heads, -1).transpose(0, 2, 1, 3)

    weights = jax.nn.softmax(split("q") @ split("k").transpose(0, 1, 3, 2) / (hidden / heads) ** 0.5 + bias, axis=-1)
    seen = (weights @ split("v")).transpose(0, 2, 1, 3).reshape(size, length, hidden)
    x = _norm(x + seen @ p["ao.w"].T + p["ao.b"], p["aln.w"], p["aln.b"])
    inner = jax.nn.gelu(x @ p["fi.w"].T + p["fi.b"], approximate=True)
    return _norm(x + inner @ p["fo.w"].T + p["fo.b"], p["oln.w"], p["oln.b"])


def forward(params: Params, states: Any, segments: Any) -> Any:
    """One logit a pair."""
    head = params["head"]
    asks, pads = segments == QUESTION, segments == PADDING
    x = states + jnp.concatenate([head["segments"], jnp.zeros((1, states.shape[-1]))])[segments]
    down = (asks[:, :, None] & ~asks[:, None, :])[:, None]
    up = (~asks[:, :, None] & asks[:, None, :])[:, None]
    for layer, damping in zip(params["layers"], params["damping"], strict=True):
        bias = down * damping[:, 0, None, None] + up * damping[:, 1, None, None] - 1e4 * pads[:, None, None, :]
        x = _layer(layer, x, bias)
    return _logit(head, x, asks, segments == OWN, ~asks & ~pads)


def _logit(head: Params, x: Any, asks: Any, own: Any, piece: Any) -> Any:
    def mean(which: Any) -> Any:
        total = (x * which[..., None]).sum(1)
        return total / jnp.sqrt((total**2).sum(-1, keepdims=True) + 1e-9)

    asked = mean(asks)
    unit = x / jnp.sqrt((x**2).sum(-1, keepdims=True) + 1e-9)
    near = jnp.where(own[:, None, :], unit @ unit.transpose(0, 2, 1), -1.0).max(-1)
    found = (near * asks).sum(-1) / asks.sum(-1)
    cosines = jnp.stack([(asked * mean(piece)).sum(-1), (asked * mean(own)).sum(-1), found], -1) - 0.85
    first = x[jnp.arange(x.shape[0]), jnp.argmax(piece, axis=1)]
    inner = jnp.tanh(jnp.concatenate([x[:, 0], first], -1) @ head["inner.w"].T + head["inner.b"])
    return cosines @ head["cosines.w"] + inner @ head["outer.w"] + head["outer.b"]


def loss_of(params: Params, states: Any, segments: Any, right: Any) -> Any:
    """Softmax over each group that holds an answer, and cross-entropy of every pair."""
    logits = forward(params, states, segments).reshape(right.shape)
    known = right.any(axis=1)
    part = jax.nn.logsumexp(jnp.where(right, logits, -1e9), axis=1)
    order = jnp.where(known, jax.nn.logsumexp(logits, axis=1) - part, 0.0).sum() / jnp.maximum(1, known.sum())
    return order + optax.sigmoid_binary_cross_entropy(logits, right.astype(jnp.float32)).mean()


def drawn(group: dict[str, Any], chance: np.random.Generator) -> tuple[list[tuple[int, int]], list[bool]]:
    """Pairs of one group: the question in one of its spellings, a right piece or two, near misses, other hard ones."""
    spelling = 0
    if group["folds"] and chance.random() < 0.3:
        spelling = group["count"] - 1
    elif chance.random() < 0.3:
        spelling = 1
    right = list(chance.permutation(group["right"])[: 2 if chance.random() < 0.3 else 1])
    near = list(chance.permutation(group["near"])[:3])
    hard = group["hard"]
    order = np.argsort(chance.random(len(hard)) * np.arange(4, 4 + len(hard)))
    others = (near + [hard[at] for at in order])[: _GROUP - len(right)]
    pieces = right + others
    pieces += [others[-1]] * (_GROUP - len(pieces))
    return [(group["first"] + spelling, int(piece)) for piece in pieces], [at < len(right) for at in range(_GROUP)]


def batches(data: Data, seed: int, start: int) -> Iterator[tuple[Any, Any, Any]]:
    """Batches without end, of groups of like length; the same from the same step on."""
    own = [one for one in data.groups if one["trains"] and len(one["hard"]) >= _GROUP]
    sets = [[one for one in own if one["kind"].startswith("xquad") == foreign] for foreign in (False, True)]
    for block in range(start // 8, 1_000_000):
        chance = np.random.default_rng([seed, block])
        groups = []
        for _ in range(8 * _GROUPS):
            members = sets[int(chance.random() > _COMPANIES)]
            groups.append(drawn(members[int(chance.integers(len(members)))], chance))
        ends = {name: np.diff(data.arrays[f"{name}_ends"], prepend=0) for name in ("question", "piece")}
        groups.sort(key=lambda one: max(ends["question"][q] + ends["piece"][p] for q, p in one[0]))
        for at in chance.permutation(8):
            members = groups[at * _GROUPS : (at + 1) * _GROUPS]
            states, segments = data.batch([pair for pairs, _ in members for pair in pairs])
            yield states, segments, np.array([right for _, right in members])


def auroc(rights: Sequence[float], wrongs: Sequence[float]) -> float:
    """Share of pairs in order."""
    if not rights or not wrongs:
        return float("nan")
    return float(
        np.mean(np.array(rights)[:, None] > np.array(wrongs))
        + 0.5 * np.mean(np.array(rights)[:, None] == np.array(wrongs))
    )


def check(score: Any, data: Data, groups: Sequence[dict[str, Any]], most: int) -> None:
    """Print, by kind, whether the first piece is right where the candidates hold one, and the order of the best."""
    told: dict[str, list[tuple[bool, bool, list[float]]]] = defaultdict(list)
    for group in groups:
        pieces, right = group["pieces"][:most], group["right"][:most]
        if not pieces:
            continue
        logits = score([(group["first"], piece) for piece in pieces])
        values = {"plain": group["plain"][:most], "cosine": group["cosine"][:most], "cross": list(logits)}
        both = np.log(np.array(values["plain"]) + 1e-6) / 2 + np.array(logits)
        values["both"] = list(both)
        row = [float(right[int(np.argmax(value))]) for value in values.values()]
        told[group["kind"]].append(
            (group["answerable"], any(right), [*row, *(max(value) for value in values.values())])
        )
    for kind in [*sorted(told), "all"]:
        rows = [row for name, of in told.items() if kind in (name, "all") for row in of]
        known = np.array([row[2][:4] for row in rows if row[1]])
        order = [auroc([r[2][4 + n] for r in rows if r[1]], [r[2][4 + n] for r in rows if not r[0]]) for n in range(4)]
        first = known.mean(0) if len(known) else np.full(4, np.nan)
        print(f"  {kind:24} {len(rows):4} held {len(known):4}  first right plain/cosine/cross/both "
              f"{' '.join(f'{n:.3f}' for n in first)}  AUROC {' '.join(f'{n:.3f}' for n in order)}", flush=True)  # fmt: skip


def save(path: Path, params: Params, state: Any, step: int) -> None:
    """Everything a run goes on from."""
    leaves = jax.tree.leaves((params, state))
    draft = path.with_suffix(".draft.npz")
    np.savez(draft, step=step, **{f"leaf{at}": np.asarray(leaf) for at, leaf in enumerate(leaves)})
    draft.replace(path)


def restored(path: Path, params: Params, state: Any) -> tuple[Params, Any, int]:
    """What `save` wrote, in the shape of what is given."""
    with np.load(path) as held:
        leaves = [jnp.asarray(held[f"leaf{at}"]) for at in range(len(jax.tree.leaves((params, state))))]
        params, state = jax.tree.unflatten(jax.tree.structure((params, state)), leaves)
        return params, state, int(held["step"])


def export(path: Path, params: Params, layers: int) -> None:
    """Write matrices as whole numbers with a scale a row, all else in full."""
    out: dict[str, Any] = {"first_layer": np.array(layers), "damping": np.asarray(params["damping"])}
    named = {f"head.{name}": value for name, value in params["head"].items()}
    for at, layer in enumerate(params["layers"]):
        named |= {f"l{layers + at}.{name}": value for name, value in layer.items()}
    for name, value in named.items():
        array = np.asarray(value, np.float32)
        if array.ndim == 2 and name.startswith("l"):
            scales = np.abs(array).max(axis=1) / 127
            out[f"{name}.scales"], array = scales, np.rint(array / scales[:, None]).astype(np.int8)
        out[name] = array
    np.savez_compressed(path, **out)


def train(given: argparse.Namespace) -> None:
    """Train, check, keep."""
    with np.load(given.data) as held:
        data = Data(dict(held), json.loads(given.data.with_suffix(".json").read_text("utf-8")))
    params = initial(Weights(), given.layers, SEED)
    base = optax.warmup_cosine_decay_schedule(0.0, given.rate, min(60, given.steps // 8), given.steps, given.rate / 20)
    kinds = {"layers": 1.0, "head": _HEAD, "damping": _BIAS}
    labels = {name: jax.tree.map(lambda _, name=name: name, params[name]) for name in kinds}
    rules = {
        name: optax.adamw(lambda step, by=by: base(step) * by, b2=0.98, weight_decay=0.01) for name, by in kinds.items()
    }
    rule = optax.chain(optax.clip_by_global_norm(2.0), optax.multi_transform(rules, labels))
    state, start = rule.init(params), 0
    if given.keep.exists():
        params, state, start = restored(given.keep, params, state)

    @partial(jax.jit, donate_argnums=(0, 1))
    def step_of(params: Params, state: Any, states: Any, segments: Any, right: Any) -> tuple[Params, Any, Any]:
        loss, slope = jax.value_and_grad(loss_of)(params, states, segments, right)
        change, state = rule.update(slope, state, params)
        return optax.apply_updates(params, change), state, loss

    run = jax.jit(forward)
    held_out = [one for one in data.groups if not one["trains"]]
    chance = np.random.default_rng(SEED)
    some = [held_out[at] for at in chance.permutation(len(held_out))[: given.check]]

    def score(pairs: Sequence[tuple[int, int]]) -> Any:
        padded = [*pairs, *[pairs[-1]] * (12 - len(pairs))]
        return np.asarray(run(params, *data.batch(padded)))[: len(pairs)]

    if not start:
        check(score, data, some, 12)
    began, losses, seen = time.monotonic(), [], time.monotonic()
    for step, batch in zip(range(start, given.steps), batches(data, given.seed, start), strict=False):
        params, state, loss = step_of(params, state, *batch)
        losses.append(float(loss))
        if (step + 1) % 20 == 0:
            each = (time.monotonic() - began) / (step + 1 - start)
            print(
                f"{step + 1} loss {np.mean(losses[-60:]):.4f}, {each:.2f} s a step",
                time.strftime("%H:%M:%S"),
                flush=True,
            )
        if time.monotonic() - seen > given.minutes * 60 or step + 1 == given.steps:
            save(given.keep, params, state, step + 1)
            export(given.out, params, given.layers)
            check(score, data, some, 12)
            print("damping", np.asarray(params["damping"]).mean(1).round(2).tolist(), flush=True)
            seen = time.monotonic()


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(".conclave/cross/data.npz"))
    parser.add_argument("--keep", type=Path, default=Path(".conclave/cross/checkpoint.npz"))
    parser.add_argument("--out", type=Path, default=Path(".conclave/cross/cross_reader.npz"))
    parser.add_argument("--layers", type=int, default=7)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--minutes", type=float, default=7)
    parser.add_argument("--check", type=int, default=120)
    parser.add_argument("--seed", type=int, default=SEED)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
