"""The judge: reads each claim of an answer with windows of the documents and writes the verdict."""

import copy
import math
from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from tokenizers import Tokenizer

from ...backends.encoder import EncoderBackend, EncoderOutput
from ...contract.steps import Progress, Stepped, Steps
from ...contract.types import Evidence, Example, JudgeInfo, Relation, SentenceKind, Usage, Verdict
from ...decision.lengths import Threshold
from ...text import Piece, stems_of
from ..findings import Finding, clip, to_verdict
from .aggregate import (
    ClaimSupport,
    answer_score,
    blend,
    claim_support,
    probabilities,
    unsupported_ranges,
)
from .blocks import Block
from .claims import Claim
from .config import LunaConfig
from .inputs import Reading, assemble, claim_logits, find_specials
from .novelty import claim_types
from .windows import ClaimWindows, Window, read_claims

_TOKENS = 1 << 17  # in memory at once; the encoder sorts and batches what it gets


class _Prepared(NamedTuple):
    """An example, and its answer cut into claims."""

    example: Example
    claims: list[ClaimWindows]


# A claim's support, None for an empty one, and the tokens that were read for it.
_Supported = tuple[ClaimSupport | None, int]


class LunaJudge(Stepped):
    """A token-level encoder's judgement of each claim, joined as its configuration says.

    An answer is FAIL where its raw score, in [0, 1], reaches `threshold` (by default the
    configuration's), the same for all lengths. Verdicts do not depend on what is judged beside
    them.
    """

    checks = True  # of citations and refusals (`..checks`): it reads claims beside documents

    def __init__(
        self,
        encoder: EncoderBackend,
        tokenizer: Tokenizer,
        config: LunaConfig,
        threshold: float | None = None,
    ) -> None:
        """Join the parts; `tokenizer` is as `load_tokenizer` returns it."""
        super().__init__()
        version = f"{config.version}-{config.reading}-{encoder.version}"
        self.info = JudgeInfo(name=config.name, version=version)
        self.languages = config.languages
        self._encoder = encoder
        self._tokenizer = tokenizer
        self._specials = find_specials(tokenizer)
        self._config = config
        single = config.threshold if threshold is None else threshold
        self._threshold = Threshold((1,), (single,))

    def deciding(self, threshold: Threshold) -> Self:
        """Return the same judge with a threshold by length."""
        judge = copy.copy(self)
        judge._threshold = threshold
        return judge

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Judge the examples in portions that bound the memory, one call of the encoder a step."""
        verdicts: list[Verdict] = []
        portion: list[_Prepared] = []
        tokens = 0
        for example in examples:
            portion.append(_Prepared(example, (yield from self.read(example))))
            tokens += sum(len(w.ids) for one in portion[-1].claims for w in one.read)
            if tokens >= _TOKENS:
                verdicts += yield from self._judge(portion, len(verdicts))
                portion, tokens = [], 0
        return verdicts + (yield from self._judge(portion, len(verdicts)))

    def read(self, example: Example) -> Generator[None, None, list[ClaimWindows]]:
        """Cut the answer into claims with their windows of the documents, yielding often."""
        return read_claims(
            example.question,
            example.answer,
            example.context,
            self._tokenizer,
            self._config.limits,
            self._config.windows,
            closest=self._config.closest > 0,
        )

    def _judge(self, portion: Sequence[_Prepared], done: int) -> Steps:
        """Judge examples that are read, after `done` others of the call."""
        claims = [claim for prepared in portion for claim in prepared.claims]
        supports: list[_Supported] = []
        for part in _parts(claims):
            outputs: dict[int, EncoderOutput] = {}
            readings = [self._reading(claim, w) for claim in part for w in claim.read]
            # Sorted by length, for encoders that read several at once.
            order = sorted(range(len(readings)), key=lambda index: len(readings[index].ids))
            for first in range(0, len(order), self._encoder.at_once):
                share = (len(supports) + len(part) * first / len(order)) / len(claims)
                read = round(share * len(claims))
                yield Progress(done + share * len(portion), read, len(claims))
                some = order[first : first + self._encoder.at_once]
                found = self._encoder.encode([(readings[i].ids, readings[i].types) for i in some])
                outputs |= zip(some, found, strict=True)
            pairs = ((reading, outputs[index]) for index, reading in enumerate(readings))
            supports += [self._support(claim, pairs) for claim in part]
        rest = iter(supports)
        verdicts: list[Verdict] = []
        for prepared in portion:
            if verdicts:
                yield None
            own = [next(rest) for _ in prepared.claims]
            verdicts.append(
                write_verdict(
                    prepared.example,
                    self.info,
                    self._config,
                    self._threshold,
                    prepared.claims,
                    [support for support, _ in own],
                    input_tokens=sum(tokens for _, tokens in own),
                )
            )
        return verdicts

    def _reading(self, claim: ClaimWindows, window: Window) -> Reading:
        own, _, new, _ = claim
        return assemble(
            window.ids.tolist(),
            own.lead_ids.tolist(),
            own.ids.tolist(),
            claim_types(new, own.offsets - own.start),
            self._specials,
            self._config.limits,
        )

    def _support(
        self, claim: ClaimWindows, pairs: Iterator[tuple[Reading, EncoderOutput]]
    ) -> _Supported:
        """Join what the encoder found in the next windows, which are the claim's."""
        read = [next(pairs) for _ in claim.read]
        if not read:
            return None, 0
        found = self._join(read[: len(claim.windows)])
        if claim.closest is not None:
            weight = self._config.closest * claim.closest.share
            found = blend(found, self._join(read[-1:]), weight)
        fitted = self._config.support.support(found.support, claim)
        return found._replace(support=fitted), sum(len(r.ids) for r, _ in read)

    def _join(self, read: Sequence[tuple[Reading, EncoderOutput]]) -> ClaimSupport:
        found = claim_support(*claim_logits(read), self._config.aggregation)
        logit = read[found.window][1].conflict
        if logit is None:
            return found
        return found._replace(conflict=float(probabilities(np.array([logit], dtype=np.float32))[0]))


def _parts(claims: Sequence[ClaimWindows]) -> Iterator[list[ClaimWindows]]:
    """Yield the claims in lists whose windows bound the memory that their inputs take."""
    part: list[ClaimWindows] = []
    tokens = 0
    for claim in claims:
        part.append(claim)
        tokens += sum(len(window.ids) for window in claim.read)
        if tokens >= _TOKENS:
            yield part
            part, tokens = [], 0
    yield part


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

    What is said again counts once, or repetition would water down a fault. Of a hallucinated answer
    the worst claim, and all that reach the threshold of one claim, are unsupported; scores are
    rounded to four decimals.
    """
    scores = [None if support is None else round(1.0 - support.support, 4) for support in supports]
    worst: dict[str, float] = {}
    for (claim, *_), score in zip(claims, scores, strict=True):
        if score is not None:
            text = " ".join(claim.text.casefold().split())
            worst[text] = max(score, worst.get(text, score))
    read = list(worst.values())
    raw_score = round(answer_score(read, config.answer), 4)
    failed = bool(read) and raw_score >= threshold.at(len(read))
    bar = min(threshold.at(1), max(read)) if failed else math.inf
    findings = []
    for (claim, windows, *_), support, score in zip(claims, supports, scores, strict=True):
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
    usage = Usage(input_tokens=input_tokens, windows=sum(len(one.read) for one in claims))
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
