"""promptfoo: a Python assertion; `file://` its path in an `assert` of type `python`."""

from __future__ import annotations

from functools import cache
from typing import Any

from moonlynx.judge.registry import DEFAULT_JUDGE
from moonlynx.serve.integrations.grounding import Grounding, faithfulness, read_state, reason

_grounding = cache(Grounding)  # a judge is loaded once


def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """Judge an output by the test's variables `context` and `question`.

    `config.judge` names another judge. What has no score does not pass.
    """
    judge = (context.get("config") or {}).get("judge", DEFAULT_JUDGE)
    verdict = _grounding(judge).check(read_state({**context["vars"], "answer": output}))
    return {
        "pass": verdict.score == "PASS",
        "score": 0.0 if verdict.score is None else faithfulness(verdict),
        "reason": reason(verdict),
    }
