"""`python -m moonlynx.recipes.luna2.ship`: make a trained adapter one that ships with the package.

It rounds the weights to 8 bits, so that the wheel stays small, leaves the tokenizer out, which is
the backbone's own, names the backbone as users find it on the Hub, and writes a manifest. What was
scored before is of other weights: score what ships.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.pretrained import ADAPTER_CONFIG, ADAPTER_WEIGHTS
from moonlynx.judge.files.stored import save_manifest
from moonlynx.judge.metrics.adapter import (
    HEAD,
    Backbone,
    Head,
    HeadError,
    find_backbone,
    fingerprint,
    load_head_file,
    load_tokenizer,
)
from moonlynx.judge.metrics.preflight import PreflightError
from moonlynx.judge.metrics.prompt import Prompter
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from .train import save_head

app = typer.Typer()


@app.command()
def ship(
    head: Annotated[Path, typer.Argument(help="Folder of the trained head.")],
    backbone: Annotated[str, typer.Option(help="Its backbone on the Hub: ORG/REPO/FILE.gguf.")],
    out: Annotated[Path, typer.Option(help="Folder to write, as luna2-adapters/METRIC.")],
    elsewhere: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE=FILE", help="What `score` wrote of a source that no row came from."
        ),
    ] = None,
) -> None:
    """Copy a trained adapter into a folder that ships."""
    file = find_backbone(backbone)
    size = file.stat().st_size if file.is_file() else None
    found = load_head_file(head)
    try:
        Prompter(found.definition, load_tokenizer(file), found.tokens)
    except PreflightError as error:
        raise HeadError(f"--backbone: {backbone} has other tokens than {head}: {error}") from None
    shipped = found.model_copy(
        update={
            "backbone": Backbone(name=backbone, sha256=fingerprint(file), size=size),
            "elsewhere": dict(_read_elsewhere(given) for given in elsewhere or ()),
        }
    )
    version = _write(head, shipped, out)
    echo(f"{out} holds luna2:{shipped.definition.name} {version} on {backbone}")


def _read_elsewhere(given: str) -> tuple[str, tuple[float, float, float]]:
    """Read AUROC and its interval from what `score` wrote."""
    source, _, file = given.partition("=")
    try:
        found = json.loads(Path(file).read_bytes())["figures"]["auroc"]
        value, low, high = (round(each, 4) for each in found)
    except (OSError, ValueError, KeyError, TypeError):
        raise typer.BadParameter(
            f"--elsewhere {given}: give SOURCE=FILE that `score` wrote of rows of both classes"
        ) from None
    return source, (value, low, high)


def _write(head: Path, shipped: Head, out: Path) -> str:
    """Write the folder; return the version, which is that of the rounded weights."""
    import torch
    from safetensors.torch import load_file, save_file

    out.mkdir(parents=True, exist_ok=True)
    # As wide a range as 16 bits have, and 2 bits of mantissa: what loads an adapter widens them.
    halves = load_file(head / ADAPTER_WEIGHTS)
    rounded = {name: weights.to(torch.float8_e5m2) for name, weights in halves.items()}
    save_file(rounded, out / ADAPTER_WEIGHTS, metadata={"format": "pt"})
    config = json.loads((head / ADAPTER_CONFIG).read_bytes())
    config["base_model_name_or_path"] = shipped.backbone.name
    (out / ADAPTER_CONFIG).write_text(
        json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )
    version = save_head(shipped, out)
    save_manifest(out, (HEAD, ADAPTER_CONFIG, ADAPTER_WEIGHTS))
    return version


if __name__ == "__main__":
    with errors_as_messages():
        app()
