"""The commands that build and check the benchmark: `moonlynx halubench`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moonlynx.judge.terminal.messages import echo

from .annotate.cli import agreement, annotate
from .blind import blind, blind_score
from .composition import COMPOSITION, total
from .manifest import Contexts, Manifest, Plan
from .model_cli import PromptOption, perturb, perturbation, trace
from .sources import Split

if TYPE_CHECKING:
    from .halves import ModelPerturber
    from .records import QARow

app = typer.Typer()
halubench_app = typer.Typer(
    help="Build HaluBench and Lynx's training set, and check them.", no_args_is_help=True
)
app.add_typer(halubench_app, name="halubench")

FileArgument = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="A .jsonl file that was built.")
]


@halubench_app.command()
def build(
    output: Annotated[
        Path,
        typer.Option(file_okay=False, help="Folder for the set; an interrupted build resumes."),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            exists=True, file_okay=False, help="Folder with the sources (default: from the Hub)."
        ),
    ] = None,
    split: Annotated[
        Split, typer.Option(help="test: the benchmark. train: training and validation set.")
    ] = "test",
    rows: Annotated[
        int | None, typer.Option(help="A smaller set, in the same proportions (default: all).")
    ] = None,
    more_ragtruth: Annotated[
        int,
        typer.Option(
            min=0,
            help="With --split train, so many more rows of RAGTruth's training split: 2000 is the "
            "paper's RAGTruth+ (appendix B.3).",
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every draw.")] = 0,
    contexts: Annotated[
        Contexts, typer.Option(help="Long contexts: whole, or only the excerpt with the answer.")
    ] = "whole",
    model: Annotated[
        str | None,
        typer.Option(help="Chat model that perturbs answers, as MODEL@BACKEND (default: rules)."),
    ] = None,
    prompt: PromptOption = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="File of test rows, which training rows must share no text with. Repeatable.",
        ),
    ] = None,
) -> None:
    """Build HaluBench, or the training set of Lynx, or a smaller share of it.

    Where a chat model perturbs answers, the estimated cost is printed before each source,
    and an interrupted build resumes from its journal, OUTPUT/asked.jsonl.
    """
    from .build import build as build_into
    from .build import hash_against
    from .halves import RulePerturber
    from .manifest import read_manifest

    if more_ragtruth and split != "train":
        raise typer.BadParameter("needs --split train", param_hint="--more-ragtruth")
    perturber = RulePerturber(seed) if model is None else _model_perturber(model, output, prompt)
    plan = Plan(
        split=split,
        rows=total(COMPOSITION[split]) if rows is None else rows,
        seed=seed,
        contexts=contexts,
        data="folder" if data else "hub",
        perturber=perturber.name,
        more_ragtruth=more_ragtruth,
        against=hash_against(against or ()),
    )
    build_into(plan, data, perturber, output, against or ())
    manifest = read_manifest(output)
    assert manifest is not None
    echo(_summary(manifest))
    echo(f"The set is in {output}: {', '.join(manifest.outputs)}, manifest.json")


@halubench_app.command()
def stats(file: FileArgument) -> None:
    """Print rows by source and label, lengths, kinds of change and rejections."""
    from .stats import describe

    echo(describe(file))


@halubench_app.command()
def verify(file: FileArgument) -> None:
    """Check schema, ids, labels, edits, duplicates, balance and the manifest's counts."""
    from .verify import verify as check

    echo(check(file))


@halubench_app.command()
def compare(
    file: FileArgument,
    official: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, help="The released set, .jsonl or .parquet."),
    ],
) -> None:
    """Compare with the released HaluBench, row by row."""
    from .compare import compare as compare_rows

    echo(compare_rows(file, official))


halubench_app.command()(perturb)
halubench_app.command()(trace)
halubench_app.command()(annotate)
halubench_app.command()(agreement)
halubench_app.command()(blind)
halubench_app.command("blind-score")(blind_score)


def _model_perturber(name: str, output: Path, prompt: Path | None) -> ModelPerturber:
    from moonlynx.judge.backends.chat import load_chat_model, parse_chat_model
    from moonlynx.judge.decision.cost import show_usage

    from .asking import Asker, estimate
    from .halves import ModelPerturber

    spec, task = parse_chat_model(name), perturbation(prompt)

    def tell(rows: Sequence[QARow]) -> None:
        likely = show_usage(estimate(rows, task, most=False), "calls")
        echo(f"{rows[0].source}: {len(rows):,} answers to perturb, likely {likely}")

    asker = Asker(task, load_chat_model(spec), output / "asked.jsonl")
    return ModelPerturber(f"{spec}, {task.prompts[0]}", asker, tell)


def _summary(manifest: Manifest) -> str:
    """Return what was built and, source by source, what is missing."""
    lines = []
    for source in manifest.sources:
        for part in source.parts:
            name = f"{source.source}, {part.part}"
            line = f"{name}: built {part.rows:,} of {part.wanted:,} ({part.fails:,} FAIL)"
            lines.append(line + (f", missing because {part.missing}" if part.missing else ""))
    return "\n".join(lines)
