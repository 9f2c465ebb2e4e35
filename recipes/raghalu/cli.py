"""The commands that train RAGHalu: fitted to a brand, and as the paper's decoder baseline."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.terminal.messages import echo

from ..chat.command import BaseOption, DryRunOption, TrialOption, open_run, show_plan
from ..runs import show_log

_DECODER = Path(__file__).parent / "decoder"


def add_commands(app: typer.Typer) -> None:
    """Add `raghalu` and `raghalu-decoder`."""

    @app.command("raghalu")
    def adapt(
        data: Annotated[
            Path,
            typer.Option(
                exists=True,
                dir_okay=False,
                help="JSONL of labelled sentences: sentence, label (NO_INFO, SUPPORTED or "
                "UNSUPPORTED), context, and perhaps question and conversation. About 200.",
            ),
        ],
        out: Annotated[Path, typer.Option(help="Folder for the weights.")] = Path("runs/raghalu"),
    ) -> None:
        """Fit RAGHalu to a brand's own sentences: its two small regressions, not the encoder."""
        if find_spec("sklearn") is None:
            raise MissingExtra("training", "train")
        # These import numpy, which the other commands start without.
        from .adapt import adapt_heads
        from .brand import read_brand

        adapt_heads(read_brand(data), out)
        echo(f"The weights are in {out}. To use them: moonlynx judge --judge raghalu:{out}")

    @app.command("raghalu-decoder")
    def decoder(
        recipe: Annotated[
            str,
            typer.Argument(
                help="mistral-7b (the paper's), mistral-7b-3-label, mistral-7b-many, "
                "mistral-7b-qlora, or a YAML file like those of recipes/raghalu/decoder."
            ),
        ],
        rows: Annotated[
            Path,
            typer.Option(
                exists=True,
                dir_okay=False,
                help="JSONL of labelled sentences, as for `raghalu`; the open ones are written by "
                "`python -m moonlynx.recipes.raghalu sentences`.",
            ),
        ],
        out: Annotated[
            Path | None,
            typer.Option(
                help="Folder, from which a stopped run resumes (default: runs/raghalu-RECIPE)."
            ),
        ] = None,
        base: BaseOption = None,
        dry_run: DryRunOption = False,
        trial: TrialOption = False,
    ) -> None:
        """Fine-tune a chat model to print the label of a sentence."""
        from .decoder.settings import DecoderRun

        name, run = open_run(recipe, _DECODER, DecoderRun, base)
        # These import torch, which the other commands start without.
        from ..chat.sft import MODEL
        from .brand import read_brand
        from .decoder.sft import fit_sentences, train

        sentences = read_brand(rows)
        if dry_run or trial:
            show_plan(run, fit_sentences(run, sentences), trial=trial)
            return
        show_log()
        out = out or Path("runs") / f"raghalu-{name}"
        done = train(run, sentences, rows.stem, out)
        echo(
            f"{done.steps} steps over {done.rows} prompts ({done.too_long} too long), loss "
            f"{done.losses[0]:.3f} to {done.losses[-1]:.3f}. To use it: moonlynx judge --judge "
            f"'raghalu-prompt:{out / MODEL}?labels={run.labels}&sentences={run.sentences}'"
        )
