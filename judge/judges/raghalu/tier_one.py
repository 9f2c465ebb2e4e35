"""Tier 1 as an encoder, as in the paper (section 3.1): a DeBERTa in place of the regression.

It is asked as the NLI checkpoint that it starts from was: whether the sentence entails that it says
something. `recipes/raghalu/tier1-deberta-v3-large.yaml` trains it on the same pairs.
"""

from ...contract.base import Judge
from ...contract.types import Example

_STATEMENT = "This text says something that documents could support or contradict."


def as_pair(sentence: str) -> Example:
    """Return what the encoder reads of a sentence; PASS is VERIFIABLE, FAIL is NO-INFO."""
    return Example(context=(sentence,), answer=_STATEMENT)


class EncoderTier:
    """Tells what claims nothing by a judge over `as_pair`."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.version = judge.info.version

    def claims_nothing(self, sentence: str) -> bool:
        """Return whether the sentence is NO-INFO; one without a letter or digit is."""
        if not any(map(str.isalnum, sentence)):
            return True
        (verdict,) = self._judge([as_pair(sentence)])
        return verdict.score == "FAIL"
