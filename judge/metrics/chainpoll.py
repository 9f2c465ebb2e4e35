"""Metrics by ChainPoll: a chat model reasons, says true or false, and is asked several times.

Friel and Sanyal 2023 (arXiv 2310.18344); the prompts and the JSON of prompt injection and of tool
selection are those of Luna-2's appendix, which polls three times and takes the mean (section 4,
"LLM judge"). Ours are the marks around what is judged.
"""

from collections.abc import Sequence

from ..backends.base import ChatBackend
from ..backends.replies import usage_of
from ..contract.types import JudgeError, JudgeInfo, MetricInput, MetricVerdict, Turn
from ..judges.prompted.polls import poll_requests, read_vote
from ..judges.talk import Talk, converse
from ..prompts import load_prompt
from .definition import DefinitionError, load_definition
from .metric import DIGITS
from .prompt import fault_of, write_over

POLLS = 3

# By metric; context adherence, whose prompt the paper prints as well, is the judge `chainpoll`.
_PROMPTS = {
    "prompt_injection": "chainpoll-prompt-injection-v2",
    "tool_selection_quality": "chainpoll-tool-selection-v2",
}
_ADHERENCE = "context_adherence"


class ChainPollMetric:
    """Scores each input by the shares of polls that say true and that say false.

    True means a prompt injection; for tool selection, that the guidelines were followed. One poll
    that cannot be read leaves the input without labels: two polls would be another measure. The
    shares are no calibrated probabilities, and no threshold was fitted to them.
    """

    calibrated = False

    def __init__(self, backend: ChatBackend, metric: str, polls: int = POLLS) -> None:
        """Set the metric up; raises as `prompt_of`."""
        self._prompt = prompt_of(metric)
        self.info = JudgeInfo(
            name=f"chainpoll:{metric}", version=f"{self._prompt}-{polls}-{backend.name}"
        )
        self.definition = load_definition(metric)
        self.thresholds: dict[str, float] = {}
        self._backend = backend
        self._polls = polls

    def __call__(self, inputs: Sequence[MetricInput]) -> list[MetricVerdict]:
        """Judge the inputs."""
        return converse(self._backend, [self._talk(one) for one in inputs])

    def _talk(self, one: MetricInput) -> Talk[MetricVerdict]:
        metric = self.definition.name
        if fault := fault_of(self.definition, one):
            return MetricVerdict(id=one.id, metric=metric, error=fault)
        text = write_over(load_prompt(self._prompt), self.definition.reads, one)
        replies = yield poll_requests((Turn(role="user", content=text),), self._polls)
        usage, true = usage_of(replies), 0
        for vote in map(read_vote, replies):
            if isinstance(vote, JudgeError):
                return MetricVerdict(id=one.id, metric=metric, usage=usage, error=vote)
            true += vote[0]
        share = round(true / len(replies), DIGITS)
        labels = {"true": share, "false": round(1.0 - share, DIGITS)}
        return MetricVerdict(id=one.id, metric=metric, labels=labels, usage=usage)


def prompt_of(metric: str) -> str:
    """Return the name of the metric's prompt.

    Raises:
        DefinitionError: there is none; names those that have one.
    """
    if metric == _ADHERENCE:
        raise DefinitionError(
            f"{_ADHERENCE} by ChainPoll is the judge chainpoll, whose verdicts have reasons: "
            "moonlynx judge --judge chainpoll:MODEL@BACKEND"
        )
    if metric not in _PROMPTS:
        raise DefinitionError(f"ChainPoll has no prompt for {metric}; it has {', '.join(_PROMPTS)}")
    return _PROMPTS[metric]
