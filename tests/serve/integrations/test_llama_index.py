import asyncio

import pytest

from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG, Silent

pytest.importorskip("llama_index.core", reason="needs moonlynx[llama-index]")

from llama_index.core.evaluation import BatchEvalRunner

from moonlynx.serve.integrations.llama_index import GroundednessEvaluator

pytestmark = pytest.mark.heavy


@pytest.fixture(autouse=True)
def loop():
    """Set an event loop for LlamaIndex, which leaves open one that it makes itself."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    asyncio.set_event_loop(None)
    made.close()


@pytest.mark.filterwarnings("ignore:asyncio_module:DeprecationWarning")
def test_the_batch_runner_takes_it():
    runner = BatchEvalRunner({"groundedness": GroundednessEvaluator(JUDGE)}, workers=2)
    answers = [RIGHT, WRONG] * 3
    results = asyncio.run(
        runner.aevaluate_response_strs(
            queries=[QUESTION] * 6, response_strs=answers, contexts_list=[CONTEXT] * 6
        )
    )
    assert [one.passing for one in results["groundedness"]] == [True, False] * 3


def test_what_has_no_score_is_invalid():
    result = GroundednessEvaluator(Silent()).evaluate(QUESTION, RIGHT, CONTEXT)
    assert result.invalid_result
    assert result.invalid_reason == "timeout: took too long"
    assert result.passing is None
    assert result.score is None
