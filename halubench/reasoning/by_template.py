"""Traces without a model: plain sentences about known spans and the evidence beside them.

They quote what the document says, and claim no more of it than the row's label and a comparison of
strings show; with them the chain from rows to a trained judge runs offline. The same row and seed
give the same trace.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from random import Random

from moonlynx.judge.batch.chat_tasks import Fault
from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.text import body_start

from ..overlap import edits_between
from ..perturb.source import Sentence, Source, content_of, read
from ..records import Edited, QARow
from .evidence import SHORT, Claim, find_evidence, holds, split_claims, stands_in
from .target import with_reasoning

_SINGLE = str.maketrans('“”"', "‘’'")
_LONGEST = 200  # characters of a quotation

WORDINGS: Mapping[str, list[str]] = json.loads(
    files(__package__).joinpath("wording.json").read_text(encoding="utf-8")
)

_MOST_CLAIMS = 4  # that a trace goes through one by one
_MOST_WRONG = 3  # claims that are said to be unsupported
_MOST_AGREEING = 1  # claims of a FAIL answer that are said to be supported
_STATED = 0.7  # of a claim, by weight, in the evidence; the rest may be said in other words
_FOLLOWS = 0.4  # the same, for evidence that a claim follows from, or that is about the same thing
_LEAST_SHARE = 0.15
_NEGATIVE = re.compile(r"\b(?:not|no|never|none|cannot|without)\b|n['’]t\b", re.IGNORECASE)
_MARGIN = ' .,;:()[]"“”'  # around words, and no part of them
_INSIDE = re.compile(r"[^\s.,;:]{2}")  # two characters with no end of a word between them
# An annotation quotes the words that it is about, and says then what is wrong with them.
_NOTED = re.compile(r'(?:\A|\n\n)"(.+?)"(?=\s\(|:|\n\n|\Z)', re.DOTALL)


def say(rng: Random, what: str, **slots: object) -> str:
    """Return a point in one of its wordings, its first letter a capital."""
    text = rng.choice(WORDINGS[what]).format(**slots)
    return text[0].upper() + text[1:]


def quote(text: str, focus: str = "") -> str:
    """Return a text in quotation marks, on one line; a long one is cut around `focus`."""
    line, focus = _nested(text).strip(" .;,"), _nested(focus)
    if len(line) > _LONGEST:
        centre = max(line.find(focus), 0) + min(len(focus), _LONGEST) // 2
        start = max(0, min(centre - _LONGEST // 2, len(line) - _LONGEST))
        start = line.find(" ", start) + 1 if start else 0
        end = start + _LONGEST
        stop = len(line) if end >= len(line) else max(line.rfind(" ", start, end), start + 1)
        line = ("… " if start else "") + line[start:stop] + (" …" if stop < len(line) else "")
    return f"“{line}”"


def _nested(text: str) -> str:
    """Return a text to quote: single quotation marks inside, plain white space."""
    return " ".join(text.split()).translate(_SINGLE)


@dataclass(frozen=True)
class Finding:
    """Words of a claim that the document does not support."""

    claim: Claim  # the sentence of the answer
    ours: str  # its words; "" where it is the whole claim, or a negation in it
    theirs: str  # the words that the document has in their place; "" where that is not known
    evidence: tuple[Sentence, ...]  # what the document says about the same thing, or nearest to it
    same_thing: bool  # whether the evidence is about the same thing


def trace(row: QARow, seed: int) -> QARow | Fault:
    """Return the row with a trace; a fault where there is no span to name, or no evidence to quote.

    Args:
        row: with its label; for FAIL with `edits`, a `gold` answer to compare with, or an
            `annotation` that quotes the unsupported words.
        seed: draws the wording, together with the row's id.

    Raises:
        BadInput: the row has no label.
    """
    if row.label is None:
        message = "is missing; a trace explains why it holds"
        raise BadInput("bad_input", f"row {row.id}, label", message)
    rng = Random(f"{seed}/{row.id}")  # noqa: S311 (draws words)
    source = read(row.context)
    claims = split_claims(row.answer)
    bullets = list((_faithful if row.label == "PASS" else _unfaithful)(row, claims, source, rng))
    if not bullets:
        return Fault(reason="no evidence" if row.label == "PASS" else "no known span")
    asked = row.question.strip()
    if asked and (rng.random() < 0.5 or any(claim.is_short for claim in claims)):
        bullets.insert(0, say(rng, "question", question=quote(asked)))
    closing = say(rng, "faithful" if row.label == "PASS" else "unfaithful")
    return with_reasoning(row, [*bullets, closing])


def _faithful(row: QARow, claims: Sequence[Claim], source: Source, rng: Random) -> Iterator[str]:
    """Yield the evidence of each claim; where there is none for any, text about the question."""
    if not claims:
        yield say(rng, "silent")
        return
    telling = [claim for claim in claims if not claim.is_bare] or claims
    found = [_agreement(row, claim, source, rng) for claim in telling[:_MOST_CLAIMS]]
    if not any(found):
        evidence = find_evidence(content_of(row.question), frozenset(), source)
        if evidence.share >= _LEAST_SHARE:
            quoted = _quoted(evidence.sentences, row.question)
            yield say(rng, "bare", claim=quote(telling[0].text), evidence=quoted)
        return
    yield from filter(None, found)
    if len(telling) > _MOST_CLAIMS + 1:
        yield say(rng, "rest", count=len(telling) - _MOST_CLAIMS)


def _agreement(
    row: QARow, claim: Claim, source: Source, rng: Random, *, stated: bool = False
) -> str | None:
    """Return the claim and its support; with `stated`, only where the document says the same."""
    evidence = find_evidence(claim.content, _asked(row, claim.content), source)
    near = any(_asked(row, claim.content) & sentence.content for sentence in evidence.sentences)
    if evidence.share >= _STATED and not evidence.lacks_figure:
        how = "stated"
    elif stated or not (near or evidence.share >= _LEAST_SHARE):
        return None
    elif claim.is_bare:
        how = "bare"
    elif evidence.lacks_figure and claim.is_short:
        how = "worked out"
    else:
        how = "derived" if evidence.share >= _FOLLOWS else "related"
    quoted = _quoted(evidence.sentences, claim.text)
    return say(rng, how, claim=quote(claim.text), evidence=quoted)


def _asked(row: QARow, said: frozenset[str]) -> frozenset[str]:
    """Return the question's content where a claim says little without it."""
    return content_of(row.question) if len(said) <= SHORT else frozenset()


def _unfaithful(row: QARow, claims: Sequence[Claim], source: Source, rng: Random) -> Iterator[str]:
    """Yield what has no support and what the document says instead, in the answer's order."""
    wrong: dict[Claim, list[Finding]] = {}
    for finding in _findings(row, claims, source):
        wrong.setdefault(finding.claim, []).append(finding)
    told = agreeing = 0
    for claim in claims if wrong else ():
        if claim in wrong:
            told += 1
            if told <= _MOST_WRONG:
                yield _disagreement(claim, wrong[claim], source, rng)
            continue
        agrees = not claim.is_bare and _agreement(row, claim, source, rng, stated=True)
        if agrees and agreeing < _MOST_AGREEING:
            agreeing += 1
            yield agrees


def _findings(row: QARow, claims: Sequence[Claim], source: Source) -> Iterator[Finding]:
    for edit in row.edits or _known_edits(row):
        if edit.document is None:
            for exact in _exact(row.answer, edit):
                yield from _of_answer(row, exact, claims, source)


def _known_edits(row: QARow) -> Sequence[Edited]:
    """Find the unsupported words of a row that does not say where they are."""
    if row.gold is not None:
        return edits_between(row.gold, row.answer)
    words = [match[1].strip() for match in _NOTED.finditer(row.annotation)]
    starts = sorted((row.answer.find(each), len(each)) for each in words if each)
    return [Edited(start=at, end=at + length, old="") for at, length in starts if at >= 0]


def _exact(answer: str, edit: Edited) -> Iterator[Edited]:
    """Leave out of an edit the words that it did not change."""
    if not edit.old.strip():
        yield edit
        return
    for part in edits_between(edit.old, answer[edit.start : edit.end]):
        yield Edited(start=edit.start + part.start, end=edit.start + part.end, old=part.old)


def _of_answer(
    row: QARow, edit: Edited, claims: Sequence[Claim], source: Source
) -> Iterator[Finding]:
    """Find what the document says in the place of words of the answer, claim by claim."""
    touched = [each for each in claims if each.start < edit.end and edit.start < each.end]
    # Where something was taken out, the range is empty.
    touched = touched or [each for each in claims if each.start <= edit.start <= each.end][:1]
    for claim in touched:
        ours, theirs = _whole_words(row.answer, edit, claim)
        right = (claim.content - content_of(ours)) | content_of(theirs)
        said = right or claim.content
        evidence = find_evidence(said, _asked(row, said), source)
        known = len(touched) == 1 and holds(evidence.sentences, theirs)
        is_part = claim.is_short or ours != claim.text.strip(_MARGIN)
        yield Finding(
            claim,
            ours if is_part and content_of(ours) and not _NEGATIVE.search(ours) else "",
            theirs if known else "",
            evidence.sentences,
            evidence.share >= _FOLLOWS,
        )


def _whole_words(answer: str, edit: Edited, claim: Claim) -> tuple[str, str]:
    """Return the whole words of the claim that an edit touches, after and before the edit."""
    start, end = max(edit.start, claim.start), min(edit.end, claim.end)
    while start > claim.start and _INSIDE.match(answer, start - 1):
        start -= 1
    while end < claim.end and _INSIDE.match(answer, end - 1):
        end += 1
    ours = answer[start:end]
    before, behind = answer[start : edit.start], answer[edit.end : end]
    theirs = f"{before}{edit.old}{behind}" if edit.old else ""
    return ours[body_start(ours) :].strip(_MARGIN), theirs.strip(_MARGIN)


def _disagreement(claim: Claim, findings: Sequence[Finding], source: Source, rng: Random) -> str:
    """Return what the answer has, what the document has, and where the two differ."""
    best = max(findings, key=lambda finding: (finding.same_thing, bool(finding.theirs)))
    evidence = _quoted(best.evidence, best.theirs or claim.text)
    points = [say(rng, "claimed", claim=quote(claim.text, best.ours))]
    if best.same_thing:
        points.append(say(rng, "contrary", evidence=evidence))
    for finding in findings:
        ours, theirs = quote(finding.ours), finding.theirs
        if theirs and finding.ours and finding.evidence == best.evidence:
            points.append(say(rng, "instead", theirs=quote(theirs), ours=ours))
        elif finding.ours and not stands_in(source, finding.ours):
            points.append(say(rng, "nowhere", ours=ours))
        elif not best.same_thing:
            points.append(say(rng, "unsupported", ours=ours if finding.ours else "this"))
    if best.evidence and not best.same_thing:
        points.append(say(rng, "nearest", evidence=evidence))
    return " ".join(points)


def _quoted(sentences: Iterable[Sentence], focus: str) -> str:
    return " and ".join(quote(sentence.text, focus) for sentence in sentences)
