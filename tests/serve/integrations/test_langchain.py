import asyncio
from uuid import uuid4

import pytest

from moonlynx import Unscored

from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG, Silent

pytest.importorskip("langchain_core", reason="needs moonlynx[langchain]")

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from moonlynx.serve.integrations.grounding import Ungrounded
from moonlynx.serve.integrations.langchain import groundedness_evaluator, groundedness_guard

pytestmark = pytest.mark.heavy

BETA = pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
DOCUMENTS = [Document(page_content=text) for text in CONTEXT]


def chain(answer, **options):
    retrieve = RunnableLambda(lambda question: {"question": question, "context": DOCUMENTS})
    generate = RunnableLambda(lambda state: state | {"answer": answer})
    return retrieve | generate | groundedness_guard(options.pop("judge", JUDGE), **options)


def test_an_unsupported_answer_halts_the_chain_or_is_said():
    with pytest.raises(Ungrounded, match="Peter Smith") as caught:
        chain(WRONG).invoke(QUESTION)
    assert caught.value.verdict.score == "FAIL"
    with pytest.raises(Ungrounded, match="Peter Smith"):
        asyncio.run(chain(WRONG).ainvoke(QUESTION))
    whole = chain(WRONG, halt=False)
    assert whole.invoke(QUESTION)["verdict"].score == "FAIL"
    states = asyncio.run(whole.abatch([QUESTION] * 3))
    assert [state["verdict"].score for state in states] == ["FAIL"] * 3


def test_what_has_no_score_does_not_pass():
    with pytest.raises(Unscored, match="took too long"):
        chain(RIGHT, judge=Silent()).invoke(QUESTION)
    state = chain(RIGHT, judge=Silent(), halt=False).invoke(QUESTION)
    assert state["verdict"].error.code == "timeout"


def test_an_unsupported_answer_is_filtered_or_marked_with_a_record():
    filtered = chain(WRONG, on_fail="filter").invoke(QUESTION)
    assert (filtered["answer"], filtered["verdict"].score) == (RIGHT, "PASS")
    assert [one.action for one in filtered["correction"].changes] == ["kept", "removed"]
    assert asyncio.run(chain(WRONG, on_fail="filter").ainvoke(QUESTION)) == filtered
    marked = chain(WRONG, on_fail="annotate").invoke(QUESTION)
    assert marked["answer"] == f"{WRONG} [unsupported]"
    assert marked["verdict"].score == "FAIL"
    right = chain(RIGHT, on_fail="filter").invoke(QUESTION)
    assert (right["answer"], right["correction"].outcome) == (RIGHT, "unchanged")
    with pytest.raises(Unscored, match="took too long"):
        chain(RIGHT, judge=Silent(), on_fail="filter").invoke(QUESTION)


def evaluate(answer, judge=JUDGE):
    """Run the evaluator in LangSmith's own experiment runner, which uploads nothing here."""
    from langsmith import Client
    from langsmith.schemas import Example

    data = [Example(id=uuid4(), inputs={"question": QUESTION}, outputs={})]
    rows = Client(api_url="http://127.0.0.1:9", api_key="none").evaluate(
        lambda inputs: {"answer": answer, "context": CONTEXT},
        data=data,
        evaluators=[groundedness_evaluator(judge)],
        upload_results=False,
    )
    (row,) = rows
    (result,) = row["evaluation_results"]["results"]
    return result


@BETA
def test_the_evaluator_runs_in_langsmith():
    assert (evaluate(RIGHT).key, evaluate(RIGHT).score) == ("groundedness", 1.0)
    wrong = evaluate(WRONG)
    assert wrong.score == 0.5  # one of two claims is supported
    assert "Peter Smith" in wrong.comment
    result = evaluate(RIGHT, Silent())
    assert result.score is None
    assert result.comment == "timeout: took too long"
