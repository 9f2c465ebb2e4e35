"""Writes a trained encoder as `model.onnx`, and measures how far it is from the torch form.

On the command line: `python -m moonlynx.recipes.luna.export FOLDER OUT`.
"""

from __future__ import annotations

import random
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.encoder import EncoderOutput, Input
from moonlynx.judge.backends.onnx_encoder import MODEL, OnnxEncoder
from moonlynx.judge.backends.torch_encoder import TorchEncoder, load_network
from moonlynx.judge.files.stored import load_record
from moonlynx.judge.judges.luna.config import CONFIG_FILE, LunaConfig, LunaError
from moonlynx.judge.judges.luna.inputs import find_specials
from moonlynx.judge.judges.luna.weights import (
    CALIBRATION,
    TOKENIZER,
    load_tokenizer,
    write_manifest,
)
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from ..data.mixes import Mix
from .batches import encode_items
from .quantise import quantise
from .stage_items import Reader

OPSET = 20
_REAL = 1000  # claims to compare the forms on
_EXAMPLE = (2, 8)  # rows and tokens to trace with; neither is 1, which would be taken for fixed


class Scheme(StrEnum):
    """How weights are written: in int8 (see `quantise`), or as they are, to compare with."""

    INT8 = "int8"
    FP32 = "fp32"


def export(folder: Path, out: Path, scheme: Scheme = Scheme.INT8) -> None:
    """Write a weights folder in ONNX form: the same bytes for the same weights and packages.

    `tokenizer.json`, `luna.json` and `calibration.json` are copied where there are any, and
    `manifest.json` is written.

    Args:
        folder: a weights folder in torch form.
        out: the folder to write; created if missing.
        scheme: how weights are written.

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
    if scheme is Scheme.INT8:
        model = quantise(model)
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


@dataclass(frozen=True)
class Comparison:
    """How far probabilities of support are from the torch form's.

    Attributes:
        inputs: how many were read.
        claim_max, claim_mean: absolute difference of the claim's probability.
        token_max, token_mean: the same of every token's.
        agreement: share of the inputs whose claim has the same label, supported or not.
    """

    inputs: int
    claim_max: float
    claim_mean: float
    token_max: float
    token_mean: float
    agreement: float


def compare(
    folder: Path, out: Path, readings: Sequence[Input], threshold: float = 0.5
) -> Comparison:
    """Read the inputs, at least one, with both forms of an encoder.

    Args:
        folder: a weights folder in torch form.
        out: one in ONNX form.
        readings: token ids and types, each of shape (tokens,).
        threshold: a claim is supported where its probability reaches it.

    Raises:
        MissingExtra: torch or transformers is missing.
        BackendError: one of the forms cannot be loaded.
    """
    pairs = [
        _probabilities(encoder.encode(readings))
        for encoder in (TorchEncoder(folder, device="cpu"), OnnxEncoder(out))
    ]
    (claims, tokens), (own_claims, own_tokens) = pairs
    by_claim, by_token = np.abs(own_claims - claims), np.abs(own_tokens - tokens)
    return Comparison(
        inputs=len(readings),
        claim_max=float(by_claim.max()),
        claim_mean=float(by_claim.mean()),
        token_max=float(by_token.max()),
        token_mean=float(by_token.mean()),
        agreement=float(np.mean((own_claims >= threshold) == (claims >= threshold))),
    )


def _probabilities(
    outputs: Sequence[EncoderOutput],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the claims' probabilities, and those of all tokens one input after the other."""
    claims = np.array([output.claim for output in outputs])
    tokens = np.concatenate([output.tokens for output in outputs]).astype(np.float64)
    return 1 / (1 + np.exp(-claims)), 1 / (1 + np.exp(-tokens))


def real_inputs(folder: Path, data: Path) -> list[Input]:
    """Return inputs of claims of validation answers, `_REAL` of them, drawn at random.

    Raises:
        DataNotFound: a set is not at `data`.
        LunaError: the folder's `luna.json` or tokenizer cannot be read.
    """
    config, tokenizer = (
        load_record(folder / CONFIG_FILE, LunaConfig, LunaError),
        load_tokenizer(folder / TOKENIZER),
    )
    reader = Reader(tokenizer, config.limits, config.windows)
    rng = random.Random(0)  # noqa: S311 - chance, not secrecy
    answers = [row for rows in Mix("shipped").validation(data).values() for row in rows]
    rng.shuffle(answers)
    items = islice((item for answer in answers for item in reader.items(answer)), _REAL)
    encoded = encode_items(list(items), tokenizer, find_specials(tokenizer), config.limits)
    return [(reading.ids, reading.types) for item in encoded for reading in item.readings]


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    folder: Annotated[Path, typer.Argument(help="Weights folder in torch form.")],
    out: Annotated[Path, typer.Argument(help="Folder to write the ONNX form to.")],
    scheme: Annotated[Scheme, typer.Option(help="How weights are written.")] = Scheme.INT8,
    against: Annotated[
        Path | None,
        typer.Option(help="Folder with the labelled data: compare both forms on its claims."),
    ] = None,
) -> None:
    """Write a trained Luna as model.onnx."""
    with errors_as_messages():
        export(folder, out, scheme)
        echo(f"{out / MODEL}: {(out / MODEL).stat().st_size / 1e6:.1f} MB")
        if against is not None:
            comparison = compare(folder, out, real_inputs(folder, against))
            for name, value in asdict(comparison).items():
                echo(f"{name}: {value:.4g}")


if __name__ == "__main__":
    app()
