"""From each claim's support to the verdict: labels, marked spans, evidence and reasons."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...contract.types import (
    Evidence,
    Example,
    JudgeInfo,
    Relation,
    SentenceKind,
    Usage,
    Verdict,
)
from ...decision.lengths import Threshold
from ...text import Piece, stems_of
from ..findings import Finding, clip, to_verdict
from .aggregate import ClaimSupport, answer_score, unsupported_ranges
from .blocks import Block
from .claims import Claim
from .config import LunaConfig
from .windows import ClaimWindows

_EVIDENCE = 3  # blocks named for one sentence at most
_CONTRADICTED = 0.5  # P(contradicted) of a claim without support


def write_verdict(
    example: Example,
    judge: JudgeInfo,
    config: LunaConfig,
    threshold: Threshold,
    claims: Sequence[ClaimWindows],
    supports: Sequence[ClaimSupport | None],
    input_tokens: int,
) -> Verdict:
    """Call the answer hallucinated if its raw score reaches `threshold` at its number of claims.

    Of a hallucinated answer the worst claim, and all that reach the threshold of one claim, are
    unsupported; scores are rounded to four decimals.
    """
    scores = [None if support is None else round(1.0 - support.support, 4) for support in supports]
    read = [score for score in scores if score is not None]
    raw_score = round(answer_score(read, config.answer), 4)
    failed = bool(read) and raw_score >= threshold.at(len(read))
    bar = min(threshold.at(1), max(read)) if failed else math.inf
    findings = []
    for (claim, windows, _), support, score in zip(claims, supports, scores, strict=True):
        piece = Piece(claim.start, claim.end, example.answer[claim.start : claim.end])
        if support is None or score is None:
            findings.append(Finding(piece, None))
            continue
        marked: list[tuple[int, int]] = []
        evidence: tuple[Evidence, ...] = ()
        kind: SentenceKind | None = None
        said = f"has support {1.0 - score:.2f} of 1 in the documents"
        if score >= bar:
            offsets = claim.offsets[: len(support.tokens)]
            marked = unsupported_ranges(
                example.answer, offsets, support.tokens, config.token_threshold
            )
            quoted = (f"“{clip(example.answer[start:end])}”" for start, end in marked)
            said += f", least at {', '.join(quoted)}"
            if support.conflict is not None:
                if support.conflict >= _CONTRADICTED:
                    evidence = _evidence(claim, windows[support.window].blocks, "conflict")[:1]
                # What no passage speaks of is contradicted by none.
                kind = "contradicted" if evidence else "not_mentioned"
        else:
            evidence = _evidence(claim, windows[support.window].blocks, "support")
        findings.append(Finding(piece, score, said, evidence, tuple(marked), kind))
    usage = Usage(input_tokens=input_tokens, windows=sum(len(one.windows) for one in claims))
    verdict = to_verdict(example, judge, findings, bar, usage)
    return verdict.model_copy(update={"raw_score": raw_score})


def _evidence(claim: Claim, blocks: Sequence[Block], relation: Relation) -> tuple[Evidence, ...]:
    """Return the blocks that hold most of the claim's content, each adding to those before it."""
    missing = set(stems_of(claim.text))
    chosen: list[Evidence] = []
    while blocks and len(chosen) < _EVIDENCE:
        best = max(blocks, key=lambda block: len(missing.intersection(block.stems)))
        shared = missing.intersection(best.stems)
        # One shared word may be coincidence once the bulk is found.
        if len(shared) < (2 if chosen else 1):
            break
        place = {"document": best.document, "start": best.start, "end": best.end}
        chosen.append(Evidence(**place, relation=relation))
        missing -= shared
    return tuple(chosen)
