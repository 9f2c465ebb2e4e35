import pytest

from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG

pytest.importorskip("haystack", reason="needs moonlynx[haystack]")

from haystack import Document, Pipeline
from haystack.components.builders import AnswerBuilder
from haystack.dataclasses import ChatMessage

from moonlynx.serve.integrations.haystack import GroundednessJudge

pytestmark = pytest.mark.heavy

DOCUMENTS = [Document(content=text) for text in CONTEXT]


@pytest.fixture
def pipeline():
    pipeline = Pipeline()
    pipeline.add_component("judge", GroundednessJudge(JUDGE))
    pipeline.add_component("answers", AnswerBuilder())
    pipeline.connect("judge.grounded", "answers.replies")
    return pipeline


def ask(pipeline, replies):
    inputs = {
        "judge": {"replies": replies, "documents": DOCUMENTS, "question": QUESTION},
        "answers": {"query": QUESTION},
    }
    return pipeline.run(inputs, include_outputs_from={"judge"})


@pytest.mark.parametrize("message", [str, ChatMessage.from_assistant])
def test_only_grounded_replies_become_answers(pipeline, message):
    result = ask(pipeline, [message(WRONG), message(RIGHT)])
    assert [answer.data for answer in result["answers"]["answers"]] == [RIGHT]
    assert result["judge"]["ungrounded"] == [message(WRONG)]
    assert [verdict.score for verdict in result["judge"]["verdicts"]] == ["FAIL", "PASS"]


def test_a_saved_pipeline_judges_again_and_no_score_is_neither(pipeline):
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=[GroundednessJudge.__module__])
    assert again.get_component("judge").judge == JUDGE
    assert [one.data for one in ask(again, [RIGHT, WRONG])["answers"]["answers"]] == [RIGHT]
    component = GroundednessJudge("lynx:model@http://127.0.0.1:9/v1")
    result = component.run([RIGHT], DOCUMENTS)
    assert result["grounded"] == result["ungrounded"] == []
    assert result["verdicts"][0].error.code == "backend"
