"""The commands that render a model card, push a release to the Hub and pull one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moonlynx.judge.terminal.messages import echo

if TYPE_CHECKING:
    from moonlynx.judge.files.stored import Release

app = typer.Typer()
_HEADS_RESULTS = "results.json"  # in the folder of a run


@app.command()
def card(
    weights: Annotated[
        Path,
        typer.Option(
            help="Luna's weights with their training.json, `model` of a run of Lynx, `head` of a "
            "run of Luna-2, or Luna-2's heads on the encoder."
        ),
    ],
    run: Annotated[
        Path,
        typer.Option(
            help="Settings of the run: its YAML file, or run.json of the run's folder; of heads "
            "the run's results.json."
        ),
    ],
    output: Annotated[Path, typer.Option(help="Markdown file for the card.")],
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Folder that `moonlynx eval` wrote; not for Luna-2. Repeatable."),
    ] = None,
) -> None:
    """Render the card of a weights folder from its training run and its evaluations."""
    # These import numpy, which other commands start without.
    from moonlynx.judge.metrics.adapter import HEAD
    from moonlynx.recipes.chat import record as chat
    from moonlynx.recipes.luna import record as luna
    from moonlynx.recipes.luna.settings import Run
    from moonlynx.recipes.lynx.settings import LynxRun
    from moonlynx.recipes.runs import read_run

    from .adapter import render_adapter_card
    from .card import render_card
    from .heads import render_heads_card
    from .lynx import render_lynx_card
    from .results import CardError, read_report

    reports = [read_report(folder) for folder in report or ()]
    is_adapter = (weights / HEAD).is_file()
    if reports and (is_adapter or run.name == _HEADS_RESULTS):
        raise CardError("the card of heads takes no --report: what was measured is beside --run")
    if is_adapter:
        rendered = render_adapter_card(weights, run)
    elif run.name == _HEADS_RESULTS:
        rendered = render_heads_card(weights, run)
    elif (weights.parent / chat.RECORD_FILE).is_file():
        record = chat.read_record(weights.parent)
        rendered = render_lynx_card(weights, record, read_run(run, LynxRun), reports)
    else:
        rendered = render_card(weights, luna.read_record(weights), read_run(run, Run), reports)
    rendered.save(output)
    echo(f"Wrote {output}")


_SHOWN = 12  # digits of a hash
DryRunOption = Annotated[bool, typer.Option(help="Only show the files, sizes and licences.")]


@app.command()
def push(
    folder: Annotated[Path, typer.Argument(help="Folder with its card, README.md.")],
    repository: Annotated[str, typer.Argument(help="ORG/NAME on the Hub; created if missing.")],
    private: Annotated[bool, typer.Option(help="Only for those who are let in.")] = False,
    revision: Annotated[str | None, typer.Option(help="Branch to push to.")] = None,
    tag: Annotated[str | None, typer.Option(help="Tag for the commit, as v1.")] = None,
    dry_run: DryRunOption = False,
) -> None:
    """Push weights, an adapter, a GGUF file, a HaluBench build or a calibration to the Hub.

    The folder is checked first: only data, with a card, a licence, and a manifest of hashes.
    """
    # These import numpy and the Hub's client, which other commands start without.
    from . import hub
    from .release import plan_release

    place = hub.Repository.parse(repository)
    plan = plan_release(folder)
    _show(plan.release)
    if dry_run:
        return
    commit = hub.push(plan, place.id, private=private, revision=revision, tag=tag)
    kind = "datasets/" if plan.repo_type == "dataset" else ""
    echo(f"Pushed {kind}{place.id} at {commit[:_SHOWN]}" + (f", tag {tag}" if tag else ""))


@app.command()
def pull(
    repository: Annotated[str, typer.Argument(help="ORG/NAME on the Hub, or datasets/ORG/NAME.")],
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder; without it the Hub's cache, where judges look first."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Fetch anew what is there.")] = False,
    dry_run: DryRunOption = False,
) -> None:
    """Pull a release from the Hub and compare every byte with its manifest."""
    from . import hub

    place = hub.Repository.parse(repository)
    if dry_run:
        _show(hub.read_remote(place, revision).release)
        return
    pulled = hub.pull(place, revision, output, force=force)
    at = f"{pulled.commit[:_SHOWN]}: {len(pulled.release.files)} files as released"
    echo(f"Pulled {place.id} at {at}, in {pulled.folder}")


def _show(release: Release) -> None:
    """Print the files with their sizes and hashes, then the chain of licences."""
    width = max(len(name) for name in release.files)
    total = sum(file.size for file in release.files.values())
    echo(
        f"{release.kind}, moonlynx {release.moonlynx}, {len(release.files)} files, {total:,} bytes"
    )
    for name, file in release.files.items():
        echo(f"  {name:{width}}  {file.size:>14,}  {file.sha256[:_SHOWN]}")
    for each in release.licences:
        echo(f"  {each.part} {each.name}: {each.licence or 'licence not known here; look it up'}")
