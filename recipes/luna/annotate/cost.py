"""What a run costs: estimated before it starts, and counted as it goes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import ceil

from moonlynx.judge.contract.types import Usage
from moonlynx.judge.decision.cost import Price, add_usage, estimate_tokens, show_usage
from moonlynx.judge.prompts import load_prompt

from .asking import ANNOTATE, GENERATE
from .label import REANNOTATIONS, Limits, Task

KEYED = 1.2  # text with a key before each sentence, against the bare text
ANSWER_TOKENS = 200  # of an answer on average (appendix B)
ANNOTATION_TOKENS = 3 * ANSWER_TOKENS  # its reasoning goes through the answer about twice


@dataclass(frozen=True)
class Prices:
    """The prices of a run's generators, in their order, and of its annotator."""

    generators: Sequence[Price]
    annotator: Price


@dataclass
class Bill:
    """Calls and tokens: of each generator, by its place from 0, and of the annotator."""

    generation: defaultdict[int, Usage] = field(default_factory=lambda: defaultdict(Usage))
    annotation: Usage = field(default_factory=Usage)

    def add(self, generator: int, generation: Usage, annotation: Usage) -> None:
        """Add what one answer and its label cost."""
        self.generation[generator] = add_usage(self.generation[generator], generation)
        self.annotation = add_usage(self.annotation, annotation)

    def shown(self, prices: Prices | None) -> str:
        """Return calls, tokens and, where prices are known, the sum in one line."""
        answers = reduce(add_usage, self.generation.values(), Usage())
        text = f"{show_usage(answers, 'answers')}, {show_usage(self.annotation, 'annotations')}"
        if prices is None:
            return text
        cost = prices.annotator.of(self.annotation)
        cost += sum(prices.generators[at].of(usage) for at, usage in self.generation.items())
        return f"{text}, cost {cost:,.2f}"


def estimate(tasks: Iterable[Task], limits: Limits, *, most: bool) -> Bill:
    """Estimate what the tasks will take, from the length of their texts.

    Args:
        tasks: what is to be done.
        limits: of the replies.
        most: every reply as long as it may be and every answer annotated as often as it may be,
            instead of answers as long as the paper's, annotated once.
    """
    answer = limits.answer if most else min(ANSWER_TOKENS, limits.answer)
    reply = limits.annotation if most else min(ANNOTATION_TOKENS, limits.annotation)
    times = 1 + REANNOTATIONS if most else 1
    generate, annotate = (estimate_tokens(load_prompt(name)) for name in (GENERATE, ANNOTATE))
    bill = Bill()
    for task in tasks:
        question = estimate_tokens(task.question.question)
        documents = sum(estimate_tokens(document) for document in task.question.context)
        asked = ceil(generate + question + documents)
        judged = ceil(annotate + question + KEYED * (documents + answer))
        bill.add(
            task.generator,
            Usage(calls=1, input_tokens=asked, output_tokens=answer),
            Usage(calls=times, input_tokens=times * judged, output_tokens=times * reply),
        )
    return bill
