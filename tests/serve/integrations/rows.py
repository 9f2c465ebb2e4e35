"""What every framework is given: a supported answer, an unsupported one, a silent judge."""

from moonlynx.judge.contract.base import unscored
from moonlynx.judge.contract.types import JudgeInfo

QUESTION = "When was the bridge built?"
CONTEXT = ["The bridge was built in 1849 by Anna Weiss.", "It is 90 m long."]
RIGHT = "The bridge was built in 1849."
WRONG = "The bridge was built in 1849. Peter Smith tore down two towers near Glasgow."
JUDGE = "token-similarity"


class Silent:
    info = JudgeInfo(name="silent", version="1")

    def __call__(self, examples):
        return [unscored(self.info, one.id, "timeout", "took too long") for one in examples]
