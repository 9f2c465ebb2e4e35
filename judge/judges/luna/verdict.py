"""From each claim's support to the verdict: labels, marked spans, evidence and reasons."""

from __future__ import annotations

from collections.abc import Sequence

from ...contract.types import Evidence, Example, JudgeInfo, Sentence, Span, Usage, Verdict
from ...text import content_tokens
from .aggregate import ClaimSupport, answer_score, unsupported_ranges
from .blocks import Block, stem
from .claims import Claim
from .config import LunaConfig
from .windows import ClaimWindows

_EVIDENCE = 3  # blocks named for one sentence at most
_SHOWN = 80  # characters of a sentence quoted in a reason


def write_verdict(
    example: Example,
    judge: JudgeInfo,
    config: LunaConfig,
    threshold: float,
    claims: Sequence[ClaimWindows],
    supports: Sequence[ClaimSupport | None],
    input_tokens: int,
) -> Verdict:
    """Call the answer hallucinated if its raw score reaches `threshold`.

    Of a hallucinated answer the worst claim, and all that reach the threshold themselves, are
    unsupported; scores are rounded to four decimals.
    """
    scores = [None if support is None else round(1.0 - support.support, 4) for support in supports]
    read = [score for score in scores if score is not None]
    raw_score = round(answer_score(read, config.answer), 4)
    failed = bool(read) and raw_score >= threshold
    bar = min(threshold, max(read)) if failed else None
    sentences: list[Sentence] = []
    spans: list[Span] = []
    reasons = []
    for (claim, windows, _), support, score in zip(claims, supports, scores, strict=True):
        if support is None or score is None:
            sentences.append(Sentence(start=claim.start, end=claim.end, label="NO_INFO"))
            reasons.append(_reason("NO_INFO", claim, "makes no claim that documents could support"))
            continue
        unsupported = bar is not None and score >= bar
        label = "UNSUPPORTED" if unsupported else "SUPPORTED"
        marked = _mark(example.answer, claim, support, config) if unsupported else []
        blocks = () if unsupported else windows[support.window].blocks
        sentences.append(
            Sentence(
                start=claim.start,
                end=claim.end,
                label=label,
                raw_score=score,
                evidence=_evidence(claim, blocks),
            )
        )
        spans += marked
        said = f"has support {1.0 - score:.2f} of 1 in the documents"
        if marked:
            said += f", least at {', '.join(f'“{_shorten(span.text)}”' for span in marked)}"
        reasons.append(_reason(label, claim, said))
    return Verdict(
        id=example.id,
        score="FAIL" if failed else "PASS",
        raw_score=raw_score,
        reasoning=tuple(reasons),
        spans=tuple(spans),
        sentences=tuple(sentences),
        judge=judge,
        usage=Usage(input_tokens=input_tokens, windows=sum(len(one.windows) for one in claims)),
    )


def _mark(answer: str, claim: Claim, support: ClaimSupport, config: LunaConfig) -> list[Span]:
    offsets = claim.offsets[: len(support.tokens)]
    ranges = unsupported_ranges(answer, offsets, support.tokens, config.token_threshold)
    return [Span(start=start, end=end, text=answer[start:end]) for start, end in ranges]


def _evidence(claim: Claim, blocks: Sequence[Block]) -> tuple[Evidence, ...]:
    """Return the blocks that hold most of the claim's content, each adding to those before it."""
    missing = {stem(token.form) for token in content_tokens(claim.text)}
    chosen: list[Evidence] = []
    while blocks and len(chosen) < _EVIDENCE:
        best = max(blocks, key=lambda block: len(missing.intersection(block.stems)))
        shared = missing.intersection(best.stems)
        # One shared word may be coincidence once the bulk is found.
        if len(shared) < (2 if chosen else 1):
            break
        place = {"document": best.document, "start": best.start, "end": best.end}
        chosen.append(Evidence(**place, relation="support"))
        missing -= shared
    return tuple(chosen)


def _reason(label: str, claim: Claim, said: str) -> str:
    return f"{label}: “{_shorten(claim.text)}” {said}."


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1].rstrip() + "…"
