"""What `adapters` finds: its records, and their Markdown."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from moonlynx.eval.markdown import table
from moonlynx.judge.contract.types import Record

from .origin import Origin

AGREE = 1e-3  # of a probability: as far apart as two engines may be


class Plan(Record):
    """What is measured.

    Attributes:
        backbone: folder of the model.
        adapters: drawn ones.
        slots: of them the engine keeps in a batch; others are loaded in turn.
        mixes: numbers of adapters whose requests are timed together.
        tokens: of each text, beside the metric's prompt.
        requests: timed at once.
        rounds: of each timing.
        repeats: of the same requests, and batches of other make-up that they are put into.
    """

    backbone: Path
    adapters: int
    slots: int
    mixes: tuple[int, ...]
    tokens: int
    requests: int
    rounds: int
    repeats: int


class Speed(Record):
    """Requests a second in each round, with so many adapters among the requests."""

    adapters: int
    rates: tuple[float, ...]


class Moves(Record):
    """How far P moves from what it was the first time.

    Attributes:
        what: was done to the requests.
        compared: probabilities.
        changed: of them, those that moved at all.
        most: how far.
    """

    what: str
    compared: int
    changed: int
    most: float


class Correct(Record):
    """The adapters' answers beside those of transformers and PEFT.

    Attributes:
        prompts: that each of them answered.
        most: largest difference of a probability.
        agree: adapters all of whose answers are within 1e-3.
        own: adapters whose answers are nearest to those of the same adapter there.
        apart: standard deviation of a prompt's P over the adapters, the mean of the prompts.
    """

    prompts: int
    most: float
    agree: int
    own: int
    apart: float


class AdapterBench(Record):
    """A whole run."""

    origin: Origin
    plan: Plan
    prompt: int
    seconds_to_start: float
    bytes_of_adapter: int
    correct: Correct
    speeds: tuple[Speed, ...]
    moves: tuple[Moves, ...]


def render(bench: AdapterBench) -> str:
    """Return the run as Markdown."""
    plan = bench.plan
    one = np.median(bench.speeds[0].rates)
    speeds = [
        (
            f"{speed.adapters}",
            f"{np.median(speed.rates):.1f}",
            f"{min(speed.rates):.1f} to {max(speed.rates):.1f}",
            f"{np.median(speed.rates) / one:.2f}",
        )
        for speed in bench.speeds
    ]
    moves = [
        (each.what, f"{each.compared:,}", f"{each.changed:,}", f"{each.most:.1e}")
        for each in bench.moves
    ]
    sections = [
        f"# {plan.adapters} adapters on one backbone",
        bench.origin.describe(),
        f"`{plan.backbone.name}`, {plan.slots} adapters in a batch, {bench.prompt} tokens in a "
        f"prompt, {bench.bytes_of_adapter / 1e6:.2f} MB an adapter, {plan.requests} requests at "
        f"once; the engine was up after {bench.seconds_to_start:.0f} s.",
        _agreement(bench.correct, plan),
        table(("adapters at once", "requests/s", "least to most", "of one adapter's"), speeds),
        table(("P was asked for", "compared", "changed", "moved at most"), moves),
        "Of n independent probabilities none of which moved further, fewer than 3 / n of all do, "
        "with 95 % confidence (rule of three). A verdict gives six digits of a probability.",
    ]
    return "\n\n".join(sections) + "\n"


def _agreement(correct: Correct, plan: Plan) -> str:
    return (
        f"Beside transformers and PEFT: {correct.agree} of {plan.adapters} adapters give the same "
        f"probabilities within {AGREE:g} on {correct.prompts} prompts, the largest difference is "
        f"{correct.most:.1e}; the answers of {correct.own} are nearest to those of the same "
        f"adapter there (a prompt's P has a standard deviation of {correct.apart:.2f} over the "
        "adapters)."
    )
