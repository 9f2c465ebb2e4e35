"""A judge over an index of long documents: it reads what of them matches the answer (`?index=`)."""

from collections.abc import Sequence

from ..contract.base import Judge, unscored
from ..contract.steps import Steps, Wrapper, steps_of
from ..contract.types import BadInput, Example, Verdict
from ..index.narrow import Narrowed, expand, narrow
from ..index.store import Index


class Indexed(Wrapper):
    """A judge whose examples may name documents of an index instead of holding them.

    Evidence is in the documents themselves: `document` is the place in the example's own context,
    or in the index where the context is `ALL_DOCUMENTS`. The index is part of the judge's version.
    """

    def __init__(self, judge: Judge, index: Index) -> None:
        super().__init__(judge, f"+index-{index.version}")
        self.calibration, self.stages = None, (judge,)  # calibrated is what it asks
        self._index = index

    def expand(self, example: Example) -> Example:
        """Return the example with whole documents, which the verdict's evidence is in."""
        return expand(self._index, example)

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Narrow the examples, then judge them in the judge's own steps."""
        seen: list[Narrowed | Verdict] = []
        for example in examples:
            if seen:
                yield None
            try:
                seen.append(narrow(self._index, example))
            except BadInput as error:
                seen.append(unscored(self.info, example.id, error.code, str(error)))
        asked = [one.example for one in seen if isinstance(one, Narrowed)]
        judged = iter((yield from steps_of(self._judge, asked)) if asked else [])
        return [
            one
            if isinstance(one, Verdict)
            else one.restore(next(judged)).model_copy(update={"judge": self.info})
            for one in seen
        ]
