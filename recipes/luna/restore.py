"""Restores the folder of a finished run from the judge that it shipped, to train on from there.

Checkpoints are not kept; the weights in the package are. What quantisation took from them is lost.
On the command line: `python -m moonlynx.recipes.luna.restore WEIGHTS RUN --base ENCODER`.
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.backends.torch_encoder import freeze, save_network
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from ..runs import claim_folder, find_recipe, read_run
from .base import find_base, start_network
from .checkpoints import Progress, mark_done
from .record import read_record
from .settings import RECIPES, Run


def restore(weights: Path, out: Path, run: Run, base: Path) -> None:
    """Write the stages that `weights` came through into `out`, finished, the last with its network.

    Args:
        weights: folder of a judge in ONNX form, of any scheme, with its `training.json`.
        out: folder of the run; `run_recipe` goes on with the first stage that is not restored.
        run: settings whose first stages those weights were trained by.
        base: folder of the base encoder that they were trained from.

    Raises:
        BackendError: the model does not hold the weights of such an encoder.
        RecordError: there is no readable `training.json`.
    """
    import torch

    record = read_record(weights)
    claim_folder(out, run)
    network = start_network(base, run)
    freeze(network, run.frozen)  # token types enter above the frozen layers
    values = read_weights(weights / MODEL)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            found = values.get(name)
            if found is None and name.startswith("conflict."):
                continue  # older judges have no such head; a new one is learned
            if found is None or found.shape != parameter.shape:
                raise BackendError(f"{weights / MODEL}: no weights of the shape of {name}")
            parameter.copy_(torch.tensor(found))
    for stage in record.stages:
        figures = {"claims": {"all": (stage.held_back, stage.auroc)}}
        progress = Progress(0, stage.tokens, stage.seconds, stage.items, done=True)
        mark_done(out / stage.name, figures, progress)
    save_network(network, out / record.stages[-1].name)


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return the parameters of an exported encoder by their names in torch, dequantised.

    Products hold no name of theirs in the graph; their bias, which is added next, does.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    values = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    users: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    for name in [name for name in values if name.endswith(".int8")]:
        stem = name.removesuffix(".int8")
        values[stem] = values[name].astype(np.float32) * values[f"{stem}.scales"]
    found = {name: value for name, value in values.items() if name.endswith((".weight", ".bias"))}
    for name, matrix in values.items():
        if matrix.ndim == 2 and matrix.dtype == np.float32 and (bias := _bias(name, users, values)):
            found[bias.removesuffix("bias") + "weight"] = np.ascontiguousarray(matrix.T)
    return found


def _bias(name: str, users: dict[str, list[Any]], values: dict[str, NDArray[Any]]) -> str | None:
    """Follow a matrix to the bias that is added to what it is multiplied with."""
    reached = [name, f"{name}.int8"]
    while reached:
        for node in users.get(reached.pop(), ()):
            for each in values.keys() & set(node.input) if node.op_type == "Add" else ():
                if each.endswith(".bias"):
                    return each
            if node.op_type in ("MatMul", "MatMulInteger", "Cast", "Mul", "Add"):
                reached += node.output
    return None


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    weights: Annotated[Path, typer.Argument(help="Weights folder in ONNX form.")],
    out: Annotated[Path, typer.Argument(help="Folder of the run.")],
    recipe: Annotated[str, typer.Option(help="As in `moonlynx train luna`.")] = "base",
    base: Annotated[
        Path | None, typer.Option(help="Folder of the base encoder (default: from the Hub).")
    ] = None,
) -> None:
    """Restore a run from the judge that it shipped."""
    with errors_as_messages():
        run = read_run(find_recipe(recipe, RECIPES), Run)
        restore(weights, out, run, find_base(run, base))
        echo(f"{out} goes on with: moonlynx train luna {recipe} --out {out}")


if __name__ == "__main__":
    app()
