"""The cascade: judges asked one after the other, the next one only where the last is unsure.

Where a stage is unsure is fitted beforehand (`policy` beside this file). A stage keeps its verdict
or defers the answer; it is never overruled into the other label. So what a verdict says (score,
spans, sentences) is always one judge's own.
"""

from collections.abc import Sequence
from typing import Literal, get_args

from ..contract.base import Judge, stages_of, unscored
from ..contract.spec import SpecError
from ..contract.steps import Stepped, Steps, steps_of
from ..contract.types import Example, JudgeInfo, Stage, Verdict
from .cost import total_usage
from .policy import Policy

OnFailure = Literal["unscored", "keep"]
ON_FAILURE: tuple[str, ...] = get_args(OnFailure)
VERSION = "1"


class Cascade(Stepped):
    """Asks each judge about the answers that those before it deferred, in one batch.

    With a policy, which goes with two judges, the first keeps its verdict where the policy says so.
    Without one, each judge except the last has to abstain (`abstain=RISK`). A judge that leaves an
    answer unscored always defers it.

    If the last judge leaves an answer unscored, `on_failure` says what becomes of it: "unscored"
    (the default: the first judge was unsure of just these, and a verdict that no judge is sure of
    would look like any other), or "keep", the last score given before, its stage marked degraded.

    A verdict's `stages` are the judges that were asked about this answer, with what each said and
    cost; the stages of an inner cascade take its place. `raw_score` is null: the scores of
    different judges do not rank together. `probability` is that of the judge that decided, fitted
    on all answers and not on the ones it gets here. `acall` exists where a judge has it.

    Attributes:
        stages: the judges, cheapest first.
    """

    def __init__(
        self,
        stages: Sequence[Judge],
        policy: Policy | None = None,
        on_failure: OnFailure = "unscored",
    ) -> None:
        """Join the judges, cheapest first.

        Raises:
            SpecError: nothing says where a judge is unsure.
            PolicyError: the policy was fitted for other judges.
        """
        _check(stages, policy)
        super().__init__(*stages)
        self.stages = tuple(stages)
        self._policy = policy
        self._on_failure = on_failure
        kept = policy.kept() if policy else "abstentions"
        versions = ", ".join(stage.info.version for stage in stages)
        self.info = JudgeInfo(
            name=f"cascade({','.join(stage.info.name for stage in stages)})",
            version=f"{VERSION} ({versions}; {kept}; {on_failure})",
        )

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Judge the examples in the steps of one judge after the other."""
        given: list[list[Verdict]] = [[] for _ in examples]
        waiting = list(range(len(examples)))
        for number, judge in enumerate(self.stages):
            if not waiting:
                break
            verdicts = yield from steps_of(judge, [examples[index] for index in waiting])
            for index, verdict in zip(waiting, verdicts, strict=True):
                given[index].append(verdict)
            is_last = number == len(self.stages) - 1
            waiting = [] if is_last else [i for i in waiting if not self._keeps(given[i][-1])]
        return [self._settle(verdicts) for verdicts in given]

    def _keeps(self, verdict: Verdict) -> bool:
        return verdict.score is not None and (self._policy is None or self._policy.keeps(verdict))

    def _settle(self, given: Sequence[Verdict]) -> Verdict:
        """Return the verdict of the last judge asked or, if it failed, what `on_failure` says."""
        chosen = last = len(given) - 1
        if self._on_failure == "keep":
            scored = (number for number in range(last, -1, -1) if given[number].score is not None)
            chosen = next(scored, last)
        verdict, stages = given[chosen], _stages(given, chosen)
        usage = total_usage(stage.usage for stage in stages)
        if verdict.error is not None:
            error = verdict.error
            fault = f"{verdict.judge.name}: {error.message}"
            bare = unscored(self.info, verdict.id, error.code, fault, usage)
            return bare.model_copy(update={"stages": stages})
        own = {"judge": self.info, "raw_score": None, "stages": stages, "usage": usage}
        return verdict.model_copy(update=own)


def _stages(given: Sequence[Verdict], chosen: int) -> tuple[Stage, ...]:
    """Return all verdicts' stages, of which only those of the chosen one are marked as deciding."""
    marked = []
    for number, verdict in enumerate(given):
        for stage in stages_of(verdict):
            decided = stage.decided and number == chosen
            degraded = decided and (chosen < len(given) - 1 or stage.degraded)
            update = {"decided": decided, "degraded": degraded}
            marked.append(stage.model_copy(update=update))
    return tuple(marked)


def _check(stages: Sequence[Judge], policy: Policy | None) -> None:
    if policy is not None:
        if len(stages) != 2:
            raise SpecError(
                "policy= goes with a cascade of two judges; write three as "
                "cascade(A,cascade(B,C)?policy=INNER)?policy=OUTER"
            )
        policy.check(*(stage.info for stage in stages))
        return
    for stage in stages[:-1]:
        if not getattr(stage, "abstains", False):
            raise SpecError(
                f"nothing says where {stage.info.name} is unsure: fit it with `moonlynx cascade` "
                "and give the cascade ?policy=FILE, or give this judge abstain=RISK"
            )
