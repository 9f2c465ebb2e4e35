"""The commands that perturb rows' answers by a chat model, and that explain labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moonlynx.judge.backends.chat import load_chat_model, parse_chat_model
from moonlynx.judge.batch.chat_tasks import Tally
from moonlynx.judge.decision.cost import Price
from moonlynx.judge.files.atomic import beside, keep_apart
from moonlynx.judge.terminal.costed import PRICE_HELP, DryRunOption, run_costed, show_counts
from moonlynx.judge.terminal.messages import echo

from .asking import CALLS, Asker, Outcomes, Task, estimate
from .records import QARow, read_rows, write_rows

if TYPE_CHECKING:
    from .perturb.by_model import Perturbation

_MAX_TOKENS = 1_024

FileArgument = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="A .jsonl file of rows.")
]
OutputOption = Annotated[Path, typer.Option(help="JSONL file for the new rows.")]
PriceOption = Annotated[str | None, typer.Option(help=f"{PRICE_HELP}.")]
MaxTokensOption = Annotated[int, typer.Option(min=1, help="Tokens that a reply may take.")]


PromptOption = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="File with another prompt, such as the paper's: with {{QUESTION}}, {{GOLD_ANSWER}}, "
        "{{EVIDENCE_TEXT}} where these go, or instructions that they are put behind.",
    ),
]


def perturb(
    file: FileArgument,
    output: OutputOption,
    model: Annotated[
        str, typer.Option(help="Chat model that is asked, as MODEL@BACKEND?option=value.")
    ],
    prompt: PromptOption = None,
    price: PriceOption = None,
    max_tokens: MaxTokensOption = _MAX_TOKENS,
    dry_run: DryRunOption = False,
) -> None:
    """Perturb faithful answers subtly by a chat model, and verify each.

    Prints the estimated cost first. An interrupted run resumes from OUTPUT.asked.jsonl.
    """
    keep_apart({"--output": output, "FILE": file, "--prompt": prompt})
    task = perturbation(prompt, max_tokens)
    _ask(read_rows(file), task, model, output, price, dry_run=dry_run)


def perturbation(prompt: Path | None, max_tokens: int = _MAX_TOKENS) -> Perturbation:
    """Return what `--prompt` names, or the package's own."""
    from .perturb.by_model import PROMPT, Perturbation
    from .prompts import load_prompt, read_prompt

    return Perturbation(max_tokens, load_prompt(PROMPT) if prompt is None else read_prompt(prompt))


def trace(
    file: FileArgument,
    output: OutputOption,
    model: Annotated[
        str | None,
        typer.Option(help="Chat model that explains, as MODEL@BACKEND (default: templates)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the templates' wording.")] = 0,
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            help="KIND=FILE: another prompt for rows that are faithful, changed or annotated, with "
            "{{QUESTION}}, {{CONTEXT}}, {{ANSWER}}, ... where these go. Repeatable."
        ),
    ] = None,
    price: PriceOption = None,
    max_tokens: MaxTokensOption = _MAX_TOKENS,
    dry_run: DryRunOption = False,
) -> None:
    """Write for each labelled row why its label holds, by templates or a chat model.

    A chat model's cost is printed first. An interrupted run resumes from OUTPUT.asked.jsonl.
    """
    from .prompts import read_prompt
    from .reasoning import KINDS, Tracing

    keep_apart({"--output": output, "FILE": file})
    pairs = [(kind, Path(name)) for kind, _, name in (each.partition("=") for each in prompt or ())]
    if any(kind not in KINDS or not path.is_file() for kind, path in pairs) or (
        pairs and model is None
    ):
        message = f"write KIND=FILE with a KIND of {', '.join(KINDS)}, and name a --model"
        raise typer.BadParameter(message, param_hint="--prompt")
    rows = read_rows(file)
    if model is None:
        _trace_by_template(rows, output, seed)
    else:
        task = Tracing(max_tokens, {kind: read_prompt(path) for kind, path in pairs})
        _ask(rows, task, model, output, price, dry_run=dry_run)


def _trace_by_template(rows: Sequence[QARow], output: Path, seed: int) -> None:
    from .reasoning import trace as write_trace

    traced = [write_trace(row, seed) for row in rows]
    made = [one for one in traced if isinstance(one, QARow)]
    dropped = Counter(one.reason for one in traced if not isinstance(one, QARow))
    write_rows(output, made)
    echo(show_counts(Tally(Counter(made=len(made)), dropped)), err=True)


def _ask(
    rows: Sequence[QARow],
    task: Task,
    model: str,
    output: Path,
    price: str | None,
    *,
    dry_run: bool,
) -> None:
    """Ask about the rows that are not done yet, and write all that were made, in their order."""
    spec = parse_chat_model(model)
    prices = {} if price is None else {CALLS: Price.parse(price)}
    journal = beside(output, ".asked.jsonl")
    done = Outcomes(journal).read()
    todo = [row for row in rows if row.id not in done]

    def run(on_progress: Callable[[Tally], None]) -> Tally:
        asker = Asker(task, load_chat_model(spec), journal)
        made = asker.ask(rows, on_progress)
        write_rows(output, [row for row in made if row is not None])
        return asker.tally

    run_costed(
        len(rows),
        done.tally,
        lambda most: {CALLS: estimate(todo, task, most=most)},
        prices,
        run,
        output,
        dry_run=dry_run,
    )
