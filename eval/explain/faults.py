"""Count what goes wrong: by type of question, document and kind of error, and over time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from moonlynx.judge.contract.types import Verdict

from ..intervals import Interval, wilson
from .batch import Judged

_BINS = 12  # periods at most
_LEAST = 10  # rows of a period
_WORST = 20
_DOCUMENTS = 15
_LABEL = 70  # characters by which a document is named
_QUESTIONS = re.compile(
    r"(?P<yes_or_no>\A\W*(?:is|are|am|was|were|do|does|did|can|could|has|have|had|will|would|should"
    r"|may|must)\b)|(?P<how_many>\bhow (?:many|much|long|old|often|far|big|high)\b)"
    r"|(?P<when>\b(?:when|(?:what|which) (?:year|date|day|month|time))\b)"
    r"|(?P<who>\bwho(?:m|se)?\b)|(?P<where>\bwhere\b)|(?P<why>\b(?:why|how come)\b)"
    r"|(?P<how>\bhow\b)|(?P<what>\b(?:what|which)\b)"
    r"|(?P<task>\A\W*(?:summari[sz]e|list|describe|explain|write|give|tell|compare|extract)\b)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=[^\W_] )[^\W\d_]*[A-ZÀ-Þ]|\A[A-ZÀ-Þ]{2,}")


_KINDS: Mapping[str, str] = {
    "contradicted": "contradicted by a document",
    "not_mentioned": "not mentioned in the documents",
    "false_refusal": "says that the documents lack what they hold",
}
_CITED: Mapping[str, str] = {
    "supported_elsewhere": "cites another document than the one that says it",
    "unsupported": "cites what no document says",
    "dangling": "cites a document that is not there",
}


class Share(NamedTuple):
    """FAILs among the scored rows of a kind, with the 95 % interval; None where none is scored."""

    name: str
    failed: int
    scored: int
    unscored: int

    @property
    def interval(self) -> Interval | None:
        """Return the share with its interval."""
        return wilson(self.failed, self.scored) if self.scored else None


class Faults(NamedTuple):
    """All that the page shows."""

    total: Share  # all rows
    faithfulness: float | None  # the mean share of claims supported, where verdicts have one
    # the share of each, most FAILs first; documents none without rows
    questions: list[Share]
    documents: list[Share]
    more_documents: int  # that are not listed
    kinds: list[tuple[str, int]]  # rows that FAIL by kind of error; a row may have several
    unscored: dict[str, list[Judged]]  # rows without a score by error code, with their numbers
    periods: list[Share]  # in order; `by_time` whether that is by the rows' own time
    by_time: bool
    moved: tuple[Share, Share] | None  # whether the first and last third differ by more than chance
    worst: list[Judged]  # rows that FAIL, the surest first


def find_faults(batch: Sequence[Judged]) -> Faults:
    """Count a batch, at least one row."""
    by_time = all(one.time is not None for one in batch)
    ordered = sorted(batch, key=_when) if by_time else batch
    third = max(1, len(batch) // 3)
    ends = _share("first third", ordered[:third]), _share("last third", ordered[-third:])
    documents = _shares(
        batch, lambda one: set(map(_label, one.example.context)) if one.example else ()
    )
    grades = (one.verdict.faithfulness for one in batch)
    graded = [grade for grade in grades if grade is not None]
    unscored: dict[str, list[Judged]] = {}
    for one in batch:
        if one.verdict.error is not None:
            unscored.setdefault(one.verdict.error.code, []).append(one)
    kinds = Counter(kind for one in batch for kind in kinds_of(one.verdict))
    failed = [one for one in batch if one.verdict.score == "FAIL"]
    return Faults(
        total=_share("all", batch),
        faithfulness=sum(graded) / len(graded) if graded else None,
        questions=_shares(batch, lambda one: [_question_type(one)]),
        documents=documents[:_DOCUMENTS],
        more_documents=max(0, len(documents) - _DOCUMENTS),
        kinds=kinds.most_common(),
        unscored=dict(sorted(unscored.items(), key=lambda item: -len(item[1]))),
        periods=list(_periods(ordered, by_time)),
        by_time=by_time,
        moved=ends if _differ(*ends) else None,
        worst=sorted(failed, key=_sureness, reverse=True)[:_WORST],
    )


def kinds_of(verdict: Verdict) -> Iterator[str]:
    """Yield what kinds of error a verdict that is FAIL names, each once."""
    if verdict.score != "FAIL":
        return
    wrong = [one for one in verdict.sentences if one.label == "UNSUPPORTED"]
    found = {_KINDS[one.kind] for one in wrong if one.kind}
    cited = {one.status for one in verdict.citations or ()}
    found.update(text for status, text in _CITED.items() if status in cited)
    for span in verdict.spans:
        begins = any(one.start == span.start for one in wrong)
        around = [one.end - one.start for one in wrong if one.start <= span.start < one.end]
        if any(span.end - span.start >= 0.8 * length for length in around):
            found.add("a whole sentence")
        elif _NUMBER.search(span.text):
            found.add("a number or date")
        elif _NAME.search(span.text) or (span.text[0].isupper() and not begins):
            found.add("a name")
        else:
            found.add("other words")
    yield from sorted(found) or ["the answer as a whole"]


def _question_type(one: Judged) -> str:
    if one.example is None:
        return "row without texts"
    if not one.example.question.strip():
        return "no question"
    found = _QUESTIONS.search(one.example.question)
    return found.lastgroup.replace("_", " ") if found and found.lastgroup else "other"


def _label(document: str) -> str:
    line = " ".join(document.split())
    return line if len(line) <= _LABEL else line[: _LABEL - 1] + "…"


def _shares(batch: Sequence[Judged], names: Callable[[Judged], Iterable[str]]) -> list[Share]:
    groups: dict[str, list[Judged]] = {}
    for one in batch:
        for name in names(one):
            groups.setdefault(name, []).append(one)
    found = [_share(name, rows) for name, rows in groups.items()]
    return sorted(found, key=lambda one: (-one.failed, one.name))


def _share(name: str, batch: Sequence[Judged]) -> Share:
    counts = Counter(one.verdict.score for one in batch)
    return Share(name, counts["FAIL"], counts["FAIL"] + counts["PASS"], counts[None])


def _periods(ordered: Sequence[Judged], by_time: bool) -> Iterator[Share]:
    count = max(1, min(_BINS, len(ordered) // _LEAST))
    edges = [len(ordered) * number // count for number in range(count + 1)]
    for first, last in pairwise(edges):
        time = ordered[first].time
        name = f"{time:%Y-%m-%d %H:%M}" if by_time and time else f"row {ordered[first].number}"
        yield _share(name, ordered[first:last])


def _differ(one: Share, other: Share) -> bool:
    if one.interval is None or other.interval is None:
        return False
    return one.interval[2] < other.interval[1] or other.interval[2] < one.interval[1]


def _when(one: Judged) -> float:
    return one.time.timestamp() if one.time else 0.0


def _sureness(one: Judged) -> tuple[float, float]:
    # What has no score is no 0: raw scores in log-odds may be below it.
    first, second = (
        -inf if value is None else value
        for value in (one.verdict.probability, one.verdict.raw_score)
    )
    return first, second
