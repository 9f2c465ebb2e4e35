import math

import pytest

from moonlynx import Verdict
from moonlynx.judge.contract.types import JudgeInfo

from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG, Silent

pytest.importorskip("ragas", reason="needs moonlynx[ragas]")

from moonlynx.serve.integrations.ragas import JudgedFaithfulness

pytestmark = pytest.mark.heavy


def test_it_is_the_share_of_supported_claims_or_the_judges_probability():
    metric = JudgedFaithfulness(JUDGE)
    thanks = f"{WRONG} Thank you for asking!"
    rows = [
        {"user_input": QUESTION, "response": answer, "retrieved_contexts": CONTEXT}
        for answer in (RIGHT, WRONG, thanks)
    ]
    results = metric.batch_score(rows)
    assert [result.value for result in results] == [1.0, 0.5, 0.5]
    assert "Peter Smith" in results[1].reason
    assert metric.name == "faithfulness"
    assert metric.validate_result_value(results[1].value) is None
    result = JudgedFaithfulness(Whole()).score(response=RIGHT, retrieved_contexts=CONTEXT)
    assert result.value == 0.25
    result = JudgedFaithfulness(Silent()).score(response=RIGHT, retrieved_contexts=CONTEXT)
    assert math.isnan(result.value)
    assert result.reason == "timeout: took too long"


class Whole:
    info = JudgeInfo(name="whole", version="1")

    def __call__(self, examples):
        return [Verdict(score="FAIL", probability=0.75, judge=self.info) for _ in examples]
