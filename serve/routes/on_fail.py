"""What becomes of a chat model's answer that FAILs: filtered, marked, or asked for again.

The answer is judged whole, so it is sent once it is whole, with a `GuardEvent` called `corrected`
whose `correction` says what was changed. An answer that cannot be brought to pass is replaced by a
sentence that says so, with the finish reason `content_filter`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Literal

from moonlynx.judge.contract.correction import Attempt, Correction
from moonlynx.judge.contract.types import Example, Verdict
from moonlynx.judge.correction.corrector import arun, correct, reason_of
from moonlynx.judge.prompts import messages
from moonlynx.judge.text.edits import split_units

from ..growing import GrowingAnswer, GuardEvent
from .upstream import Chunk, Upstream, join

OnFail = Literal["block", "filter", "annotate", "retry"]
RETRY_PROMPT = "retry-v1"
JudgeAll = Callable[[Sequence[Example]], Awaitable[list[Verdict]]]


async def corrected(
    judge: JudgeAll,
    upstream: Upstream,
    body: Chunk,
    growing: GrowingAnswer,
    retries: int,
    *,
    marking: bool,
) -> AsyncIterator[Chunk]:
    """Yield the chunks of an answer that passes, or says what is wrong with it.

    Args:
        judge: of the answers.
        upstream: chat endpoint.
        body: what to ask it first.
        growing: the question with its documents.
        retries: how often to ask again, before the answer is filtered.
        marking: mark what is unsupported instead.
    """
    attempts: list[Attempt] = []
    cost: dict[str, int] = {}
    while True:
        written = await join(upstream.stream(body))
        (choice,) = written["choices"]
        answer, finish = choice["message"]["content"], choice["finish_reason"]
        for name, count in (written["usage"] or {}).items():
            cost[name] = cost.get(name, 0) + count if isinstance(count, int) else count
        if not answer.strip():
            correction = None
            break
        row = {"question": growing.question, "context": growing.context, "answer": answer}
        example = Example.from_row(row)
        (before,) = await judge([example])
        if before.score != "FAIL" or len(attempts) == retries:
            correction = await arun(correct(example, before, marking=marking), judge)
            break
        attempts.append(Attempt(answer=answer, verdict=before))
        body = body | {"messages": [*body["messages"], *_ask_again(example, before)]}
    head = {name: written[name] for name in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    said = {"role": "assistant", "content": answer if correction is None else correction.answer}
    chunk = head | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]}
    if correction is not None:
        event = GuardEvent(event="corrected", correction=_with(correction, attempts))
        chunk["moonlynx"] = event.model_dump(mode="json")
        finish = "content_filter" if correction.outcome == "nothing_left" else finish
    yield chunk
    yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    if cost:
        yield head | {"choices": [], "usage": cost}


def _with(correction: Correction, attempts: Sequence[Attempt]) -> Correction:
    """Add the earlier answers to a correction."""
    asked_again = attempts and correction.outcome == "unchanged"
    outcome = "retried" if asked_again else correction.outcome
    return correction.model_copy(update={"attempts": tuple(attempts), "outcome": outcome})


def _ask_again(example: Example, verdict: Verdict) -> list[Chunk]:
    """Return the turns that show the model its answer, and what is unsupported in it."""
    found = [
        f"“{unit.text}” {reason_of(verdict, unit)}"
        for unit in split_units(example.answer)
        for one in verdict.sentences
        if one.label == "UNSUPPORTED" and one.start < unit.end and unit.start < one.end
    ]
    listed = "\n".join(dict.fromkeys(found)) or "The answer as a whole."
    (turn,) = messages(RETRY_PROMPT, example, sentences=listed)
    return [{"role": "assistant", "content": example.answer}, turn.model_dump()]
