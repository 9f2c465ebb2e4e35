"""Quantises an ONNX encoder to int8, in plain ONNX operators.

Weights are int8 with one scale for each output column, embeddings int8 with one for each row.
Activations become uint8 as they come, with a scale and a lowest value for each token. onnxruntime's
own dynamic quantisation has one scale for all tokens of a batch: it is less exact, and its
result for one input depends on the others.

The compact form has fewer values: no scale is finer than a part of the matrix's standard deviation.
Normally distributed weights then hold about five bits each, to which a wheel, which is a zip file,
packs them. Speed and size once unpacked are those of int8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST_ROWS = 256  # a matrix with fewer is no table of words or positions, and not worth it
_TINY = 1e-12  # scale of a row whose values are all the same
# Without VNNI an x86 processor adds two neighbouring products in 16 bits: 255 * 128 still fits.
_PAIR_LIMIT = 127  # rounding may add 1
_PRODUCT_STEPS, _TABLE_STEPS = 6, 4  # in a standard deviation, of the compact form


def quantise(model: Any, *, compact: bool = False) -> Any:
    """Quantise an `onnx.ModelProto`: matrix products with constant weights, and embeddings.

    Heads, which have one column, keep their precision; so do attention's own products.
    """
    from onnx import helper, numpy_helper

    graph = model.graph
    constants = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    rewriter = _Rewriter(constants, compact)
    for node in graph.node:
        rewriter.rewrite(node)
    used = {name for node in rewriter.nodes for name in node.input}
    kept = [
        numpy_helper.from_array(array, name)
        for name, array in rewriter.constants.items()
        if name in used
    ]
    return helper.make_model(
        helper.make_graph(rewriter.nodes, graph.name, graph.input, graph.output, kept),
        opset_imports=model.opset_import,
        ir_version=model.ir_version,
    )


class _Rewriter:
    """Copies nodes one after the other, and replaces those that it quantises."""

    def __init__(self, constants: dict[str, NDArray[Any]], compact: bool) -> None:
        self.nodes: list[Any] = []
        self.constants = constants
        self._compact = compact
        self._quantised: set[str] = set()  # activations, by name
        last_axis = np.array([-1], dtype=np.int64)
        steps, tiny = np.array(1 / 255, dtype=np.float32), np.array(_TINY, dtype=np.float32)
        self.constants |= {"last_axis": last_axis, "steps": steps, "tiny": tiny}

    def rewrite(self, node: Any) -> None:
        """Append the node, or its replacement."""
        if node.op_type == "MatMul" and self._is_matrix(node.input[1], columns=2):
            self._rewrite_product(node)
        elif node.op_type == "Gather" and self._is_matrix(node.input[0], rows=_LEAST_ROWS):
            self._rewrite_lookup(node)
        else:
            self.nodes.append(node)

    def _is_matrix(self, name: str, rows: int = 1, columns: int = 1) -> bool:
        array = self.constants.get(name)
        if array is None or array.ndim != 2 or array.dtype != np.float32:
            return False
        return bool(array.shape[0] >= rows and array.shape[1] >= columns)

    def _rewrite_product(self, node: Any) -> None:
        """Write `x @ w`, where `x = scale * q + lowest`, as `scale * (q @ w) + lowest * sum(w)`."""
        (x, w), y = node.input, node.output[0]
        if x not in self._quantised:
            self._quantise_rows(x)
        if f"{w}.int8" not in self.constants:
            matrix = self.constants[w]
            least = self._least_scale(matrix, _PRODUCT_STEPS)
            quantised, scales = quantise_columns(matrix, least)
            sums = quantised.sum(axis=0, dtype=np.float32) * scales
            self._keep(w, int8=quantised, scales=scales, sums=sums)
        self._add("MatMulInteger", [f"{x}.uint8", f"{w}.int8"], f"{y}.int32")
        self._cast(f"{y}.int32", f"{y}.whole", np.float32)
        self._add("Mul", [f"{y}.whole", f"{x}.scale"], f"{y}.by_row")
        self._add("Mul", [f"{y}.by_row", f"{w}.scales"], f"{y}.scaled")
        self._add("Mul", [f"{x}.lowest", f"{w}.sums"], f"{y}.offset")
        self._add("Add", [f"{y}.scaled", f"{y}.offset"], y)

    def _quantise_rows(self, x: str) -> None:
        self._quantised.add(x)
        self._add("ReduceMin", [x, "last_axis"], f"{x}.lowest", keepdims=1)
        self._add("ReduceMax", [x, "last_axis"], f"{x}.highest", keepdims=1)
        self._add("Sub", [f"{x}.highest", f"{x}.lowest"], f"{x}.width")
        self._add("Mul", [f"{x}.width", "steps"], f"{x}.step")
        self._add("Max", [f"{x}.step", "tiny"], f"{x}.scale")
        self._add("Sub", [x, f"{x}.lowest"], f"{x}.above")
        self._add("Div", [f"{x}.above", f"{x}.scale"], f"{x}.exact")
        self._add("Round", [f"{x}.exact"], f"{x}.rounded")
        self._cast(f"{x}.rounded", f"{x}.uint8", np.uint8)

    def _rewrite_lookup(self, node: Any) -> None:
        (table, index), y = node.input, node.output[0]
        matrix = self.constants[table]
        quantised, scales = quantise_rows(matrix, self._least_scale(matrix, _TABLE_STEPS))
        self._keep(table, int8=quantised, scales=scales)
        self._add("Gather", [f"{table}.int8", index], f"{y}.int8", axis=0)
        self._add("Gather", [f"{table}.scales", index], f"{y}.scale", axis=0)
        self._cast(f"{y}.int8", f"{y}.whole", np.float32)
        self._add("Mul", [f"{y}.whole", f"{y}.scale"], y)

    def _least_scale(self, matrix: NDArray[np.float32], steps: int) -> float:
        return max(float(matrix.std()) / steps, _TINY) if self._compact else _TINY

    def _keep(self, name: str, **arrays: NDArray[Any]) -> None:
        self.constants |= {f"{name}.{part}": array for part, array in arrays.items()}

    def _cast(self, x: str, y: str, kind: type[np.generic]) -> None:
        from onnx import helper

        self._add("Cast", [x], y, to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def _add(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))


def quantise_columns(
    matrix: NDArray[np.float32], least: float = _TINY
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return int8 values and one scale for each column, none below `least`.

    A scale is large enough that any two neighbouring values of one sign, 2i and 2i+1 of a column,
    add up to 128 at most, so that no processor overflows.

    Returns:
        Values of the matrix's shape (inputs, outputs), and scales (outputs,).
    """
    pairs = np.pad(matrix, ((0, len(matrix) % 2), (0, 0))).reshape(-1, 2, matrix.shape[1])
    sums = (np.maximum(sign * pairs, 0).sum(axis=1).max(axis=0) for sign in (1, -1))
    scales = np.maximum(np.maximum(*sums) / _PAIR_LIMIT, least)
    return np.rint(matrix / scales).astype(np.int8), scales.astype(np.float32)


def quantise_rows(
    matrix: NDArray[np.float32], least: float = _TINY
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return int8 values of the matrix's shape and a scale for each row, shape (rows, 1)."""
    scales = np.maximum(np.abs(matrix).max(axis=1, keepdims=True) / 127, least)
    return np.rint(matrix / scales).astype(np.int8), scales.astype(np.float32)
