"""Builds the bundled model for onnxruntime: twelve BERT layers with whole-number matrices, from the weight file.

``python -m app.embedding.onnx_graph > model.onnx`` writes it (a second, 23 MB) after one trial run. It is a program of
its own so that the service never loads the library that builds, nor dies of a processor that cannot run the result.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnx import NodeProto, TensorProto, helper, numpy_helper

from app.embedding.weights import BLOCK, INPUT, OUTPUT, STATES, STATES_AFTER, Floats, Weights

_STEPS = 63
"""Largest weight as a whole number. Seven bits instead of eight: processors without the newer dot-product instructions
add pairs of products in 16 bits, which eight bits overflow. So all processors agree, at 0.0005 of cosine."""
_UNEVEN = frozenset(("l0", "l4", "l5"))
"""Layers whose inner activations have a few numbers far above the rest. One scale for all of them cost half of the
whole model's accuracy (cosine 0.9962 instead of 0.9982); the finer way in these three costs a tenth of the speed."""
_WHOLE_ACTIVATIONS = 4
_STANDARD, _ONNXRUNTIME = "", "com.microsoft"
_VERSIONS = {_STANDARD: 20, _ONNXRUNTIME: 1}
_FILE_VERSION = 10


class Graph(NamedTuple):
    """Nodes and constants collected so far."""

    weights: Weights
    nodes: list[NodeProto]
    constants: list[TensorProto]

    def node(self, kind: str, *inputs: str, outputs: int = 1, domain: str = _STANDARD, **attributes: Any) -> str:
        """Add an operator; its name, which is its output's. Several outputs are numbered behind it."""
        name = f"{kind}_{len(self.nodes)}"
        names = [name] if outputs == 1 else [f"{name}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=name, domain=domain, **attributes))
        return name

    def constant(self, name: str, value: npt.NDArray[np.generic]) -> str:
        """Add a constant; its name."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def linear(self, entry: str, *names: str) -> str:
        """`entry` times matrices side by side, in whole numbers: activations become such on the way in, and back."""
        biases = [self.weights.vector(f"{name}.b") for name in names]
        matrices = [self.weights.matrix(f"{name}.w", bias.size) for name, bias in zip(names, biases, strict=True)]
        whole, scales = _whole_numbers(np.concatenate(matrices))
        key = names[0]
        return self.node(
            "DynamicQuantizeMatMul",
            entry,
            self.constant(f"{key}.w", whole.T),
            self.constant(f"{key}.s", scales),
            "",
            self.constant(f"{key}.b", np.concatenate(biases)),
            domain=_ONNXRUNTIME,
        )

    def careful_linear(self, entry: str, name: str) -> str:
        """`entry` times a matrix in the file's own four bits, activations with a scale for every 32: slower."""
        bias = self.weights.vector(f"{name}.b")
        scales, halves = self.weights.blocks(f"{name}.w", bias.size)
        return self.node(
            "MatMulNBits",
            entry,
            self.constant(f"{name}.w", halves[..., 0::2] | halves[..., 1::2] << 4),
            self.constant(f"{name}.s", scales),
            *("", ""),
            self.constant(f"{name}.b", bias),
            domain=_ONNXRUNTIME,
            K=scales.shape[1] * BLOCK,
            N=bias.size,
            bits=4,
            block_size=BLOCK,
            accuracy_level=_WHOLE_ACTIVATIONS,
        )

    def named(self, value: str, name: str) -> None:
        """Give a value a second name, under which it leaves the model."""
        self.nodes.append(helper.make_node("Identity", [value], [name], name=name))

    def norm(self, entry: str, name: str) -> str:
        """Layer norm."""
        scale, shift = (self.constant(f"{name}.{part}", self.weights.vector(f"{name}.{part}")) for part in "wb")
        return self.node("LayerNormalization", entry, scale, shift, epsilon=self.weights.epsilon)

    def norm_of_sum(self, one: str, other: str, name: str) -> str:
        """Layer norm of a residual. Two operators: onnxruntime's joined one takes five times as long."""
        return self.norm(self.node("Add", one, other), name)


def build(weights: Weights) -> bytes:
    """A model from word rows (1, tokens, hidden) to the mean of the last layer (1, hidden), and to the tokens after
    `STATES_AFTER` layers (1, tokens, hidden); neither is normalised."""
    graph = Graph(weights, [], [])
    state = graph.norm(positioned(graph), "emb.ln")
    for number in range(weights.shape.layers):
        state = layer(graph, state, f"l{number}")
        if number + 1 == STATES_AFTER:
            graph.named(state, STATES)
    graph.named(graph.node("ReduceMean", state, graph.constant("pooled axis", np.array([1])), keepdims=0), OUTPUT)
    hidden = weights.shape.hidden
    shapes: dict[str, list[int | str]] = {OUTPUT: [1, hidden], STATES: [1, "tokens", hidden]}
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    entry = helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [1, "tokens", hidden])
    body = helper.make_graph(graph.nodes, "multilingual-e5-small", [entry], results, graph.constants)
    domains = [helper.make_opsetid(domain, version) for domain, version in _VERSIONS.items()]
    model = helper.make_model(body, opset_imports=domains, ir_version=_FILE_VERSION, producer_name="conclave")
    return bytes(model.SerializeToString(deterministic=True))


def positioned(graph: Graph) -> str:
    """Word rows plus the rows of their places and of the only text type."""
    weights, hidden = graph.weights, graph.weights.shape.hidden
    places = weights.vector("emb.pos").reshape(-1, hidden) + weights.vector("emb.type")[:hidden]
    first, axis = (graph.constant(name, np.array([0])) for name in ("first place", "places axis"))
    count = graph.node("Shape", INPUT, start=1, end=2)
    return graph.node("Add", INPUT, graph.node("Slice", graph.constant("places", places), first, count, axis))


def layer(graph: Graph, state: str, name: str) -> str:
    """Add one BERT layer; the name of its output."""
    joined = graph.linear(state, f"{name}.q", f"{name}.k", f"{name}.v")
    split = graph.node("Split", joined, outputs=3, axis=2, num_outputs=3)
    seen = graph.node(
        "MultiHeadAttention",
        *(f"{split}_{part}" for part in range(3)),
        domain=_ONNXRUNTIME,
        num_heads=graph.weights.shape.heads,
    )
    state = graph.norm_of_sum(state, graph.linear(seen, f"{name}.ao"), f"{name}.aln")
    inner = graph.node("Gelu", graph.linear(state, f"{name}.fi"))
    outward = graph.careful_linear if name in _UNEVEN else graph.linear
    return graph.norm_of_sum(state, outward(inner, f"{name}.fo"), f"{name}.oln")


def _whole_numbers(matrix: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """A matrix as whole numbers, and one scale a row."""
    scales = np.maximum(np.abs(matrix).max(axis=1), np.finfo(np.float32).tiny) / np.float32(_STEPS)
    return np.rint(matrix / scales[:, np.newaxis]).astype(np.int8), scales


def main() -> None:
    """Build, try, and write to standard output."""
    weights = Weights()
    model = build(weights)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (found,) = session.run([OUTPUT], {INPUT: weights.word_rows(np.arange(3))[np.newaxis]})
    if not np.isfinite(found).all() or not found.any():
        raise SystemExit("the model computes nothing on this machine")
    sys.stdout.buffer.write(model)


if __name__ == "__main__":
    main()
