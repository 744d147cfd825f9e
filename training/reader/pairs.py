"""The network of `app.embedding.pairs`, trained with torch (CPU): `PairTrainer` learns, `arrays_of` gives what
numpy reads.

The odds that a piece answers are learnt among the pieces of one question and against that none does; what it says to a
question for yes or no on the pieces that answer, from the labels of `bench/companies`.
"""

import random
import time
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from rich.console import Console
from torch import nn

from app.embedding import ASKED, PIECE, Tokens
from app.embedding.pairs import EXTRA, KINDS, Floats, Laid, among, laid, units_of
from app.reasoning.local.features import Numbers
from app.reasoning.local.plain_reader import SAYS
from training.reader.data import SEED, Example

WIDTH, BLOCKS, HEADS = 160, 2, 4
_WITH, _HARD = 8, 5
"""Pieces read of each question in training, and of how many that share most words the wrong ones are drawn first."""
_AT_ONCE, _WARM_STEPS, _RATE, _DROPPED, _DECAY = 8, 150, 1.5e-3, 0.25, 0.01
_SAYS_MASS, _SAYS_WEIGHTS = 0.4, (0.3, 1.5, 1.0)
_SAMPLED = 4_000
"""Texts whose mean state is taken from every state."""


class Block(nn.Module):
    """Attention that knows how near tokens are, and a layer behind it; over pairs laid end to end."""

    def __init__(self) -> None:
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.o = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.f1, self.f2 = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(3 * WIDTH, WIDTH)
        self.scale, self.drop = nn.Parameter(torch.randn(HEADS) * 0.5), nn.Dropout(_DROPPED)

    def forward(self, x: torch.Tensor, near: torch.Tensor, mask: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """`x` (tokens, width); `near` (pairs, longest, longest); `places` of the tokens in the padded pairs."""
        pairs, longest = near.shape[:2]
        padded = x.new_zeros(pairs * longest, 3 * WIDTH).index_copy(0, places, self.qkv(self.n1(x)))
        q, k, v = padded.view(pairs, longest, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        bias = near[:, None] * self.scale[None, :, None, None] + mask
        seen = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2)
        x = x + self.drop(self.o(seen.reshape(pairs * longest, WIDTH).index_select(0, places)))
        return x + self.drop(self.f2(nn.functional.relu(self.f1(self.n2(x)))))  # type: ignore[no-any-return]


class PairTrainer(nn.Module):
    """The same sums as `PairNet`, padded and with slopes."""

    def __init__(self, mean: Floats):
        super().__init__()
        self.register_buffer("mean", torch.from_numpy(mean))
        self.inp, self.ext, self.pool = nn.Linear(len(mean), WIDTH), nn.Linear(EXTRA, WIDTH), nn.Linear(WIDTH, 2)
        self.ln, self.lnf, self.drop = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), nn.Dropout(_DROPPED)
        self.seg = nn.Parameter(torch.randn(KINDS, WIDTH) * 0.02)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.head, self.says = (
            nn.Sequential(nn.Linear(4 * WIDTH, inner), nn.ReLU(), nn.Dropout(_DROPPED), nn.Linear(inner, outer))
            for inner, outer in ((96, 1), (64, len(SAYS)))
        )

    def forward(self, groups: Sequence[tuple[Tokens, Sequence[Tokens]]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Odds (pairs,) and what is said (pairs, 3) of questions with their pieces, neither normalised."""
        told = [self._laid(question, pieces) for question, pieces in groups]
        x = torch.cat([own for own, _ in told])
        pairs = [one for _, one in told]
        lengths = [end - start for one in pairs for start, end in zip(one.starts, one.starts[1:], strict=False)]
        kinds = torch.from_numpy(np.concatenate([one.kinds for one in pairs]).astype(np.int64))
        near = torch.zeros(len(lengths), max(lengths), max(lengths))
        for at, own in enumerate(own for one in pairs for own in one.nearness):
            near[at, : len(own), : len(own)] = torch.from_numpy(own)
        held = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
        mask = torch.zeros(len(lengths), 1, 1, max(lengths)).masked_fill(~held[:, None, None], -1e9)
        places = torch.nonzero(held.flatten()).squeeze(1)
        x = self.drop(self.ln(x))
        for block in self.blocks:
            x = block(x, near, mask, places)
        owner = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
        pooled = self._pooled(self.lnf(x), kinds, owner, len(lengths))
        return self.head(pooled).squeeze(1), self.says(pooled)

    def _laid(self, question: Tokens, pieces: Sequence[Tokens]) -> tuple[torch.Tensor, Laid]:
        raw = np.concatenate([question.states, *(piece.states for piece in pieces)]).astype(np.float32)
        states = raw - self.mean.numpy()  # type: ignore[operator]
        ends = np.cumsum([len(question.ids), *(len(piece.ids) for piece in pieces)])
        own = laid(question, pieces, np.split(units_of(states), ends[:-1]))
        rows = self.inp(torch.from_numpy(states)).index_select(0, torch.from_numpy(own.rows))
        return rows + self.ext(torch.from_numpy(own.extra)) + self.seg[
            torch.from_numpy(own.kinds.astype(np.int64))
        ], own

    def _pooled(self, x: torch.Tensor, kinds: torch.Tensor, owner: torch.Tensor, pairs: int) -> torch.Tensor:
        weights, told = self.pool(x), []
        for at, kind in enumerate((ASKED, PIECE)):
            own = kinds == kind
            odds = weights[:, at].masked_fill(~own, -1e9)
            highest = x.new_full((pairs,), -1e9).scatter_reduce(0, owner, odds, "amax")
            share = torch.exp(odds - highest[owner]) * own
            for counted in (share, own.float()):
                total = x.new_zeros(pairs).index_add(0, owner, counted).clamp(min=1e-6)
                told.append(x.new_zeros(pairs, WIDTH).index_add(0, owner, x * counted[:, None]) / total[:, None])
        return torch.cat(told, 1)


class Adam:
    """AdamW in a few lines; torch's own loads half of a compiler."""

    def __init__(self, own: list[torch.Tensor]):
        self._own, self._step = own, 0
        self._means, self._squares = [torch.zeros_like(one) for one in own], [torch.zeros_like(one) for one in own]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Go one step and forget the slopes."""
        self._step += 1
        slopes = [torch.zeros_like(one) if one.grad is None else one.grad for one in self._own]
        torch._foreach_lerp_(self._means, slopes, 0.1)
        torch._foreach_mul_(self._squares, 0.98)
        torch._foreach_addcmul_(self._squares, slopes, slopes, value=0.02)
        width = torch._foreach_div(self._squares, 1 - 0.98**self._step)
        torch._foreach_sqrt_(width)
        torch._foreach_add_(width, 1e-8)
        torch._foreach_mul_(self._own, 1 - rate * _DECAY)
        torch._foreach_addcdiv_(self._own, self._means, width, value=-rate / (1 - 0.9**self._step))
        for one in self._own:
            one.grad = None


def fit_pairs(examples: Sequence[Example], steps: int, out: Console) -> PairTrainer:
    """Train for so many steps of eight questions; the rate falls with them."""
    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    sampled = chance.sample([one for one in examples if one.pieces], min(_SAMPLED, len(examples)))
    texts = [text for one in sampled for text in (one.question, chance.choice(list(one.pieces.values())))]
    net = PairTrainer(np.mean([text.states.astype(np.float32).mean(axis=0) for text in texts], axis=0))
    own: list[torch.Tensor] = list(net.parameters())
    adam, drawn, losses, began = Adam(own), _drawn(examples, chance), [], time.monotonic()
    net.train()
    for number in range(1, steps + 1):
        loss = _loss(net, [next(drawn) for _ in range(_AT_ONCE)], chance)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(own, 1.0)
        adam.step(_RATE * min(1.0, number / _WARM_STEPS) * max(0.02, 1 - number / steps))
        losses.append(loss.item())
        if number % 100 == 0:
            out.print(f"step {number} of {steps}, {time.monotonic() - began:.0f} s: loss {np.mean(losses[-100:]):.3f}")
    return net.eval()


def _drawn(examples: Sequence[Example], chance: random.Random) -> Iterator[Example]:
    """Questions of companies and the bundled ones in turn, an eighth as many of others, over and over."""
    usable = [one for one in examples if len(one.pieces) > 2]
    own = [one for one in usable if one.case.kind.startswith(("company", "seed"))]
    others = [one for one in usable if not one.case.kind.startswith(("company", "seed"))]
    while True:
        turn = own + chance.sample(others, min(len(others), len(own) // 8))
        chance.shuffle(turn)
        yield from turn


def _picked(example: Example, chance: random.Random) -> list[int]:
    gold = [int(at) for at in np.flatnonzero(example.gold) if int(at) in example.pieces]
    wrong = [at for at in example.order if not example.gold[at]]
    gold = chance.sample(gold, min(2, len(gold)))
    hard, rest = chance.sample(wrong[:_HARD], len(wrong[:_HARD])), chance.sample(wrong[_HARD:], len(wrong[_HARD:]))
    first = max(3, (_WITH - len(gold)) * 2 // 3)
    return [*gold, *hard[:first], *rest, *hard[first:]][:_WITH]


def _loss(net: PairTrainer, examples: Sequence[Example], chance: random.Random) -> torch.Tensor:
    picked = [_picked(one, chance) for one in examples]
    answers, says = net(
        [(one.question, [one.pieces[at] for at in own]) for one, own in zip(examples, picked, strict=True)]
    )
    loss, start, spoken, labels = answers.new_zeros(()), 0, [], []
    for one, own in zip(examples, picked, strict=True):
        gold = torch.tensor([bool(one.gold[at]) for at in own])
        if gold[0]:
            spoken.append(start)
            labels.append(SAYS.index(one.says))
        odds = torch.cat([answers.new_zeros(1), answers[start : start + len(own)]])
        right = torch.cat([~gold.any()[None], gold])
        loss = loss - torch.logsumexp(odds[right], 0) + torch.logsumexp(odds, 0)
        start += len(own)
    loss = loss / len(examples)
    if not spoken:
        return loss
    wrong = nn.functional.cross_entropy(says[spoken], torch.tensor(labels), weight=torch.tensor(_SAYS_WEIGHTS))
    return loss + _SAYS_MASS * wrong  # type: ignore[no-any-return]


def read_by(net: PairTrainer, examples: Sequence[Example], chosen: Sequence[Sequence[int]]) -> list[Numbers]:
    """The log probabilities of the chosen pieces of each example."""
    found = []
    with torch.inference_mode():
        for one, own in zip(examples, chosen, strict=True):
            answers, _ = net([(one.question, [one.pieces[at] for at in own])])
            found.append(among(answers.numpy().astype(np.float64)))
    return found


def arrays_of(net: PairTrainer) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float16]]]:
    """The weights by their names, in half precision."""
    return {name: value.detach().numpy().astype(np.float16) for name, value in net.state_dict().items()}
