"""A verdict as plain text: what is unsupported, where it is, what comes closest to it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from moonlynx.judge.contract.types import Example, Sentence, Verdict
from moonlynx.judge.contract.visible import visible, visible_parts
from moonlynx.judge.contract.wording import KINDS

_WIDTH = 88  # terminal cells of a line, as pytest indents them
_SHOWN = 240  # characters of evidence shown


def explain(example: Example, verdict: Verdict) -> str:
    """Show each unsupported sentence with its spans underlined and the closest evidence.

    The answer and reasons are shown instead where the judge does not score sentences.
    """
    wrong = [one for one in verdict.sentences if one.label == "UNSUPPORTED"]
    blocks = [f"{_found(verdict, len(wrong))} ({_by(verdict)})"]
    if wrong:
        blocks += [_sentence_block(example, verdict, sentence) for sentence in wrong]
    else:
        lines = [*_underlined(example, verdict, 0, len(example.answer))]
        lines += [f"- {visible(reason, lines=False)}" for reason in verdict.reasoning]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _found(verdict: Verdict, wrong: int) -> str:
    if not wrong:
        return "The answer is not supported by its context"
    return f"{wrong} of {len(verdict.sentences)} sentences not supported by the context"


def _by(verdict: Verdict) -> str:
    name = visible(f"{verdict.judge.name} {verdict.judge.version}", lines=False)
    if verdict.probability is None:
        return name
    return f"{name}, P(hallucinated) {verdict.probability:.2f}"


def _sentence_block(example: Example, verdict: Verdict, sentence: Sentence) -> str:
    # pytest loads its plugin at every start, also where nothing is judged.
    from moonlynx.judge.judges.findings import closest_evidence

    number = verdict.sentences.index(sentence) + 1
    kind = f", {KINDS[sentence.kind]}" if sentence.kind else ""
    lines = [f"sentence {number}, characters {sentence.start}–{sentence.end}{kind}:"]
    lines += _underlined(example, verdict, sentence.start, sentence.end)
    closest = next(iter(sentence.evidence), None) or closest_evidence(example, sentence)
    if closest is None:
        lines.append("no document shares a word with it")
    else:
        text = example.context[closest.document][closest.start : closest.end]
        text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
        where = f"document {closest.document + 1}, characters {closest.start}–{closest.end}"
        name = "conflict" if closest.relation == "conflict" else "closest evidence"
        text = visible(" ".join(text.split()))
        lines += [f"{name} ({where}):", *(f"  {text[start:end]}" for start, end in _breaks(text))]
    return "\n".join(lines)


def _underlined(example: Example, verdict: Verdict, start: int, end: int) -> Iterator[str]:
    """Yield a range of the answer in lines, each with carets below the spans within it."""
    spans = [(span.start - start, span.end - start) for span in verdict.spans]
    parts = [*visible_parts(example.answer[start:end], spans)]
    # White space of any kind becomes a blank, so that what is below stays below.
    text = "".join(" " if one.isspace() else one for part, _ in parts for one in part)
    marked = [inside for part, inside in parts for _ in part]
    for first, last in _breaks(text):
        yield f"  {text[first:last].rstrip()}"
        below = "".join(
            ("^" if marked[place] else " ") * cell_len(text[place]) for place in range(first, last)
        ).rstrip()
        if below:
            yield f"  {below}"


def _breaks(text: str) -> Iterator[tuple[int, int]]:
    """Yield ranges of the text that fit on a line, broken at blanks where there are some."""
    start = 0
    while start < len(text):
        end, width = start, 0
        while end < len(text) and (width := width + cell_len(text[end])) <= _WIDTH:
            end += 1
        if end < len(text) and (blank := text.rfind(" ", start + 1, end + 1)) > 0:
            end = blank
        yield start, end
        start = end + 1 if text[end : end + 1] == " " else end
