"""The commands that write a judge for other servers."""

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.cli.inputs import JudgeOption
from moonlynx.judge.registry import DEFAULT_JUDGE
from moonlynx.judge.terminal.messages import echo

from .steps import Device, choose_steps

export_app = typer.Typer(help="Write a judge for another server to run.")


@export_app.command()
def triton(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder to write.")],
    judge_name: JudgeOption = DEFAULT_JUDGE,
    device: Annotated[
        Device, typer.Option(help="Device of the encoder. A GPU needs weights in fp32.")
    ] = Device.CPU,
    tensorrt: Annotated[
        bool | None,
        typer.Option(
            "--tensorrt/--no-tensorrt", help="Run the encoder by TensorRT (on a GPU: on)."
        ),
    ] = None,
    batching: Annotated[
        bool | None,
        typer.Option(
            "--batching/--no-batching", help="Batch inputs of similar length (on a GPU: on)."
        ),
    ] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help="Maximum tokens of an input; default: as trained.")
    ] = None,
    overlap: Annotated[
        bool, typer.Option("--overlap/--no-overlap", help="Send all of a row's calls at once.")
    ] = True,
) -> None:
    """Write Luna as a model repository of NVIDIA's Triton; its README has the next steps."""
    from .repository import export

    export(folder, judge_name, device, choose_steps(device, tensorrt, batching, window, overlap))
    echo(f"{folder}: see {folder / 'README.md'}")
