"""The evaluator on responses with source nodes, as a query engine gives them."""

import asyncio

import pytest

from moonlynx import BadInput

from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG, Silent

pytest.importorskip("llama_index.core", reason="needs moonlynx[llama-index]")

from llama_index.core.base.response.schema import Response
from llama_index.core.evaluation import BatchEvalRunner
from llama_index.core.schema import NodeWithScore, TextNode

from moonlynx.serve.integrations.llama_index import GroundednessEvaluator

pytestmark = pytest.mark.heavy


@pytest.fixture(autouse=True)
def loop():
    """Give LlamaIndex an event loop: one that it makes itself it leaves open."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    asyncio.set_event_loop(None)
    made.close()


def response(text):
    nodes = [NodeWithScore(node=TextNode(text=one), score=1.0) for one in CONTEXT]
    return Response(response=text, source_nodes=nodes)


def test_responses_are_judged_by_their_nodes():
    evaluator = GroundednessEvaluator(JUDGE)
    right = evaluator.evaluate_response(query=QUESTION, response=response(RIGHT))
    assert (right.passing, right.score, right.query) == (True, 1.0, QUESTION)
    wrong = evaluator.evaluate_response(query=QUESTION, response=response(WRONG))
    assert (wrong.passing, wrong.score) == (False, 0.0)
    assert "Peter Smith" in wrong.feedback
    assert wrong.contexts == CONTEXT


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


def test_a_response_without_nodes_is_refused():
    with pytest.raises(BadInput, match="context"):
        GroundednessEvaluator(JUDGE).evaluate(QUESTION, RIGHT, [])
