"""PASSes an answer that repeats a document word for word, and FAILs every other."""

from collections.abc import Sequence

from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.spec import JudgeSpec
from moonlynx.judge.contract.types import Example, JudgeInfo, Verdict
from moonlynx.judge.registry import Factory


class Parrot:
    info = JudgeInfo(name="parrot", version="1.0")

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        return [
            Verdict(
                id=example.id,
                score="PASS" if any(example.answer in text for text in example.context) else "FAIL",
                judge=self.info,
            )
            for example in examples
        ]


def build(spec: JudgeSpec, threshold: float | None) -> Judge:
    return Parrot()


FACTORY = Factory("Whether the answer repeats a document", build)
