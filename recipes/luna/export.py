"""Writes a trained encoder as `model.onnx`.

On the command line: `python -m moonlynx.recipes.luna.export FOLDER OUT`.
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.backends.torch_encoder import load_network
from moonlynx.judge.judges.luna.config import CONFIG_FILE
from moonlynx.judge.judges.luna.weights import (
    CALIBRATION,
    TOKENIZER,
    write_manifest,
)
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from .quantise import quantise
from .settings import Scheme

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
