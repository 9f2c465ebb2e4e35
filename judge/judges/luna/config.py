"""What a trained Luna is read with: `luna.json`, beside its weights."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, StrictInt, StringConstraints, model_validator

from ...backends.options import Reader, share, whole
from ...contract.types import Count, MoonlynxError, Probability, Record, wrong
from .aggregate import AnswerScore, Support, SupportModel
from .inputs import Limits, premise_room

CONFIG_FILE = "luna.json"
_LEAST_PREMISE = 16  # tokens
_Version = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]*$")]

_Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")]


READERS: Mapping[str, Reader] = {"windows": whole(0), "closest": share}
"""Options in a judge's name that take the place of a field of `LunaConfig`."""


class LunaError(MoonlynxError, ValueError):
    """A weights folder that cannot be used: what is wrong with which file, and what to do."""


class LunaConfig(Record):
    """How the encoder's inputs are built and its outputs are read."""

    schema_version: Literal["1.0"] = "1.0"
    # of the model; the judge's version is this one and the weights' hash
    name: _Version = "luna"
    version: _Version
    # that it was trained on, as ISO 639 codes; none means all
    languages: tuple[_Language, ...] = ("en",)
    window: Annotated[StrictInt, Field(ge=1)] = Limits().window  # tokens in an input
    # tokens of it that the question and the answer before the claim may take
    lead: Count = Limits().lead
    # tokens of it that the claim may take
    claim: Annotated[StrictInt, Field(ge=1)] = Limits().claim
    # inputs for a claim whose context does not fit into one; 0 reads the whole context
    windows: Count = 1
    # weight of the block that fits a claim best, read by itself, beside the windows: this times the
    # share of the claim's words that it holds; 0 does not read it
    closest: Probability = 0.0
    # a claim's support: "claim" by the encoder's own head, "min" its least supported token (the
    # paper's eq. 4), "lowest-3" the mean of its three
    aggregation: Support = "claim"
    # how that support is combined with the claim's new words
    support: SupportModel = SupportModel()
    # the answer's raw score from those of its claims: "max" (with "min" the paper's eq. 5), "noisy-
    # or", "noisy-or-root" or "mean-top2"
    answer: AnswerScore = "max"
    # the answer is FAIL where its raw score reaches it; a calibration beside the weights has its
    # own
    threshold: Probability = 0.5
    # tokens of an unsupported claim are marked below this P(supported)
    token_threshold: Probability = 0.5

    @model_validator(mode="after")
    def _roomy(self) -> Self:
        if premise_room(self.limits, self.lead, self.claim) < _LEAST_PREMISE:
            raise wrong(
                f"window: {self.window} tokens leave fewer than {_LEAST_PREMISE} for the documents "
                "beside lead and claim; make it longer, or those shorter"
            )
        return self

    @property
    def reading(self) -> str:
        """Return what is read with a claim, as a judge's version says it."""
        return f"w{self.windows}" + (f"-c{self.closest:g}" if self.closest else "")

    @property
    def limits(self) -> Limits:
        """Return the token limits of an input."""
        return Limits(self.window, self.lead, self.claim)
