"""Builds the cross-encoder for onnxruntime, from the bundled e5-small and ``cross_reader.npz``.

``python -m app.reasoning.local.cross_graph lower|upper > model.onnx`` writes one half after a trial run: the lower one
reads a text, the upper one a question with each of some pieces. A program of its own, as `app.embedding.onnx_graph` is.
"""

import sys
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from app.embedding import onnx_graph
from app.embedding.onnx_graph import Graph
from app.embedding.weights import BadWeights, Floats, Weights
from app.reasoning.local.cross_reader import OWN, PADDING, QUESTION, stored

STATES, SEGMENTS, LOGITS = "states", "segments", "logits"


class Trained(Weights):
    """The weights of ``cross_reader.npz``, read as those of the embedder are."""

    def __init__(self) -> None:
        super().__init__()
        self.held = stored()

    def vector(self, name: str) -> Floats:
        """A tensor in full precision, flat."""
        return self._array(name).astype(np.float32).reshape(-1)

    def matrix(self, name: str, rows: int) -> Floats:
        """A matrix as numbers, shape (rows, …)."""
        scales = self._array(f"{name}.scales").astype(np.float32)
        return self._array(name).astype(np.float32).reshape(rows, -1) * scales[:, np.newaxis]

    def _array(self, name: str) -> Any:
        if name not in self.held:
            raise BadWeights(f"no tensor {name}")
        return self.held[name]


def build_lower(weights: Weights, layers: int) -> bytes:
    """From word rows (1, tokens, hidden) to what the first layers make of them."""
    graph = Graph(weights, [], [])
    state = graph.norm(onnx_graph.positioned(graph), "emb.ln")
    for number in range(layers):
        state = onnx_graph.layer(graph, state, f"l{number}")
    entry = helper.make_tensor_value_info(onnx_graph.INPUT, TensorProto.FLOAT, [1, "tokens", weights.shape.hidden])
    return _named(graph, state, STATES, [entry])


def build_upper(weights: Trained) -> bytes:
    """From states (pieces, tokens, hidden) and segments (pieces, tokens) to one logit a piece.

    All rows begin with the same question.
    """
    graph, head = Graph(weights, [], []), weights.held
    node, constant = graph.node, graph.constant
    table = np.concatenate([head["head.segments"], np.zeros((1, weights.shape.hidden), np.float32)])
    state = node("Add", STATES, node("Gather", constant("segment rows", table), SEGMENTS))
    asks = node("Equal", SEGMENTS, constant("question", np.array(QUESTION)))
    there = node("Not", node("Equal", SEGMENTS, constant("padding", np.array(PADDING))))
    mask = node("Cast", there, to=TensorProto.INT32)
    zero, one = constant("zero", np.array([0])), constant("one", np.array([1]))
    row = node("Cast", node("Slice", asks, zero, one, zero), to=TensorProto.FLOAT)
    rest = node("Sub", constant("one real", np.array(1, np.float32)), row)
    columns, rows = constant("columns", np.array([1, 3])), constant("rows", np.array([1, 2]))
    down = node("Mul", node("Unsqueeze", row, columns), node("Unsqueeze", rest, rows))
    up = node("Mul", node("Unsqueeze", rest, columns), node("Unsqueeze", row, rows))
    for at, damping in enumerate(head["damping"].astype(np.float32)):
        number = int(head["first_layer"]) + at
        parts = [
            node("Mul", way, constant(f"damping {number} {name}", damping[:, at_way].reshape(1, -1, 1, 1)))
            for at_way, (name, way) in enumerate((("down", down), ("up", up)))
        ]
        state = onnx_graph.layer(graph, state, f"l{number}", (mask, node("Add", *parts)))
    own = node("Equal", SEGMENTS, constant("own", np.array(OWN)))
    logits = _head(graph, weights.held, state, asks, own, node("And", there, node("Not", asks)))
    entries = [
        helper.make_tensor_value_info(STATES, TensorProto.FLOAT, ["pieces", "tokens", weights.shape.hidden]),
        helper.make_tensor_value_info(SEGMENTS, TensorProto.INT64, ["pieces", "tokens"]),
    ]
    return _named(graph, logits, LOGITS, entries)


def _head(graph: Graph, held: dict[str, Any], state: str, asks: str, own: str, piece: str) -> str:
    """Cosines of question and piece, and a small network over the first tokens of both."""
    node, constant = graph.node, graph.constant
    last, tokens = constant("last axis", np.array([-1])), constant("tokens axis", np.array([1]))

    def unit(entry: str) -> str:
        return node("Div", entry, node("ReduceL2", entry, last, keepdims=1))

    def mean(which: str) -> str:
        shares = node("Unsqueeze", node("Cast", which, to=TensorProto.FLOAT), last)
        return unit(node("ReduceSum", node("Mul", state, shares), tokens, keepdims=0))

    asked, units = mean(asks), unit(state)
    near = node("MatMul", units, node("Transpose", units, perm=[0, 2, 1]))
    least = constant("least", np.array(-1, np.float32))
    near = node("ReduceMax", node("Where", node("Unsqueeze", own, tokens), near, least), last, keepdims=0)
    shares = node("Cast", asks, to=TensorProto.FLOAT)
    found = node("Div", node("ReduceSum", node("Mul", near, shares), tokens, keepdims=1),
                 node("ReduceSum", shares, tokens, keepdims=1))  # fmt: skip
    both = [node("ReduceSum", node("Mul", asked, mean(which)), tokens, keepdims=1) for which in (piece, own)]
    cosines = node("Sub", node("Concat", *both, found, axis=1), constant("usual", np.array(0.85, np.float32)))
    whole = node("Cast", piece, to=TensorProto.INT32)
    place = node("ArgMax", whole, axis=1, keepdims=1)
    first = node("GatherND", state, place, batch_dims=1)
    opening = node("Squeeze", node("Gather", state, constant("first token", np.array([0])), axis=1), tokens)
    joined = node("Concat", opening, first, axis=1)
    inner = node("Gemm", joined, constant("inner.w", held["head.inner.w"]), constant("inner.b", held["head.inner.b"]), transB=1)  # fmt: skip
    outer = constant("outer.w", held["head.outer.w"].reshape(-1, 1))
    logit = node("Add", node("MatMul", node("Tanh", inner), outer),
                 node("MatMul", cosines, constant("cosines.w", held["head.cosines.w"].reshape(-1, 1))))  # fmt: skip
    return node("Squeeze", node("Add", logit, constant("outer.b", held["head.outer.b"].reshape(1))), tokens)


def _named(graph: Graph, result: str, name: str, entries: list[Any]) -> bytes:
    graph.node("Identity", result)
    graph.nodes[-1].output[0] = name
    shape = ["pieces"] if name == LOGITS else [1, "tokens", graph.weights.shape.hidden]
    return onnx_graph.serialised(graph, entries, helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))


def main() -> None:
    """Build one half, try it, and write it to standard output."""
    trained = Trained()
    upper = sys.argv[1] == "upper"
    model = build_upper(trained) if upper else build_lower(Weights(), int(trained.held["first_layer"]))
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    rows = Weights().word_rows(np.arange(6))[np.newaxis]
    entry = {STATES: rows, SEGMENTS: np.array([[0, 0, 1, 2, 2, 3]])} if upper else {onnx_graph.INPUT: rows}
    (found,) = session.run(None, entry)
    if not np.isfinite(found).all() or not found.any():
        raise SystemExit("the model computes nothing on this machine")
    sys.stdout.buffer.write(model)


if __name__ == "__main__":
    main()
