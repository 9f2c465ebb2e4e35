"""Writes a trained encoder as `model.onnx`, quantised to int8 in plain ONNX operators.

Weights are int8 with one scale for each output column, embeddings int8 with one for each row.
Activations become uint8 as they come, with a scale and a lowest value for each token. onnxruntime's
own dynamic quantisation has one scale for all tokens of a batch: it is less exact, and its
result for one input depends on the others.

The compact form has fewer values: no scale is finer than a part of the matrix's standard deviation.
Normally distributed weights then hold about five bits each, to which a wheel, which is a zip file,
packs them. Speed and size once unpacked are those of int8.

On the command line: `python -m moonlynx.recipes.luna.export FOLDER OUT`.
"""

import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.backends.torch_encoder import load_network
from moonlynx.judge.judges.luna.config import CONFIG_FILE
from moonlynx.judge.judges.luna.weights import CALIBRATION, TOKENIZER, write_manifest
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from .settings import Scheme

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


OPSET = 20
_EXAMPLE = (2, 8)  # rows and tokens to trace with; neither is 1, which would be taken for fixed


def export(folder: Path, out: Path, scheme: Scheme = Scheme.INT8) -> None:
    """Write a weights folder in ONNX form: the same bytes for the same weights and packages.

    `tokenizer.json`, `luna.json` and `calibration.json` are copied where there are any, and
    `manifest.json` is written.

    Raises:
        MissingExtra: torch, transformers, onnx or onnxscript is missing.
        BackendError: the torch form cannot be loaded.
    """
    network = load_network(folder)
    try:
        import onnx
        import onnxscript  # noqa: F401 (torch would say less well that it is missing)
    except ImportError as error:
        raise MissingExtra("the export", "train") from error
    model = _trace(network)
    if scheme is not Scheme.FP32:
        model = quantise(model, compact=scheme is Scheme.COMPACT)
    out.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / MODEL)
    for name in (TOKENIZER, CONFIG_FILE, CALIBRATION):
        if (folder / name).is_file():
            shutil.copyfile(folder / name, out / name)
    write_manifest(out)


def _trace(network: Any) -> Any:
    """Return the network as an `onnx.ModelProto`, without the exporter's notes on its own run."""
    import torch
    from onnx import helper

    network.trunk.set_attn_implementation("eager")  # traces to the plainest graph
    names = ["input_ids", "attention_mask", "token_type_ids"]
    inputs = [torch.ones(_EXAMPLE, dtype=torch.int64) for _ in names]
    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    shapes: list[Any] = [axes] * len(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's, on its own parts
        program = torch.onnx.export(
            network,
            tuple(inputs),
            dynamo=True,
            dynamic_shapes=tuple(shapes),
            input_names=names,
            output_names=["token_logits", "claim_logit", "conflict_logit"],
            opset_version=OPSET,
            verbose=False,
        )
    model = program.model_proto
    for node in model.graph.node:
        del node.metadata_props[:]
    graph = model.graph
    return helper.make_model(
        helper.make_graph(graph.node, "luna", graph.input, graph.output, graph.initializer),
        opset_imports=model.opset_import,
        ir_version=model.ir_version,
    )


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    folder: Annotated[Path, typer.Argument(help="Weights folder in torch form.")],
    out: Annotated[Path, typer.Argument(help="Folder to write the ONNX form to.")],
    scheme: Annotated[Scheme, typer.Option(help="How weights are written.")] = Scheme.INT8,
) -> None:
    """Write a trained Luna as model.onnx."""
    with errors_as_messages():
        export(folder, out, scheme)
        echo(f"{out / MODEL}: {(out / MODEL).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    app()
