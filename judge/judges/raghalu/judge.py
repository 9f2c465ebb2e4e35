"""The judge: tier 1 sets aside the sentences that claim nothing, tier 2 reads the others.

Zimmerman et al., "Two-tiered Encoder-based Hallucination Detection for Retrieval-Augmented
Generation in the Wild" (2024). Tier 2 is Luna's encoder, which reads a window of the documents, the
question and the claim; a claim's support is the greatest over its windows.
"""

import hashlib
from collections.abc import Generator

from tokenizers import Tokenizer
from typing_extensions import override

from ...backends.encoder import EncoderBackend
from ...contract.types import Example, JudgeInfo
from ..luna.config import LunaConfig
from ..luna.judge import LunaJudge
from ..luna.windows import ClaimWindows
from .tier_one import EncoderTier
from .weights import Heads

_TURNS = 2  # before the question: the user's last message and the reply to it (appendix A.3)


class RagHaluJudge(LunaJudge):
    """Labels each sentence NO_INFO, SUPPORTED or UNSUPPORTED.

    An answer is FAIL where any sentence that claims something is unsupported: where its raw score,
    1 - P(supported), reaches `threshold` (by default that of `heads`). The answer's raw score is
    that of its worst sentence.
    """

    def __init__(
        self,
        encoder: EncoderBackend,
        tokenizer: Tokenizer,
        config: LunaConfig,
        heads: Heads,
        threshold: float | None = None,
        tier_one: EncoderTier | None = None,
    ) -> None:
        """Join the parts; `config` and `tokenizer` are those of the encoder's weights.

        `tier_one` stands in for the first tier of `heads`.
        """
        # The encoder has a version of its own.
        fitted = heads.model_dump_json(exclude={"luna"})
        own = hashlib.sha256(fitted.encode("utf-8")).hexdigest()[:12]
        version = f"{heads.version}-{own}-{config.reading}-{encoder.version}"
        support = config.support if heads.support is None else heads.support
        own_config = config.model_copy(update={"answer": "max", "support": support})
        super().__init__(
            encoder, tokenizer, own_config, heads.threshold if threshold is None else threshold
        )
        if tier_one is not None:
            version += f"-t{tier_one.version}"
        self.info = JudgeInfo(name="raghalu", version=version)
        self._checkable = tier_one or heads.checkable

    @override
    def read(self, example: Example) -> Generator[None, None, list[ClaimWindows]]:
        """Cut the answer into claims with their windows; those that tier 1 sets aside have none."""
        asked = example.model_copy(update={"question": conversation_form(example)})
        found = yield from super().read(asked)
        return [
            ClaimWindows(one.claim._replace(empty=True), (), ())
            if self._checkable.claims_nothing(one.claim.text)
            else one
            for one in found
        ]


def conversation_form(example: Example) -> str:
    """Return the question, preceded by earlier turns, if any, in the form of appendix A.3.

    `USER: ... ASSISTANT: ... USER: question`, of at most two turns before the question.
    """
    if not example.conversation:
        return example.question
    turns = [(turn.role.upper(), turn.content) for turn in example.conversation[-_TURNS:]]
    if example.question:
        turns.append(("USER", example.question))
    return "\n".join(f"{role}: {content}" for role, content in turns)
