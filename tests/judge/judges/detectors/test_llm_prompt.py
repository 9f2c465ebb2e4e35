import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from moonlynx.judge.backends.base import ChatReply
from moonlynx.judge.contract.types import Example, JudgeError, Usage
from moonlynx.judge.judges.detectors.llm_prompt import SCHEMA, LlmPrompt, parse_score
from moonlynx.judge.judges.talk import PromptedJudge

from ....cases import cases
from ..prompted.scripted import EXAMPLE, Scripted, judged


def statement(request):
    prompt = request.messages[-1].content
    mark = re.search(r"a line that starts with (=+)\.", prompt)[1]
    return prompt.rsplit(f"{mark} STATEMENT\n", 1)[1].removesuffix(f"\n{mark} END")


def test_each_sentence_that_claims_something_is_scored():
    scores = {"It was built in 1894.": 0.05, "It is made of tin.": 0.9}
    _, verdict = judged(LlmPrompt("m"), lambda request: {"score": scores[statement(request)]})
    assert [s.label for s in verdict.sentences] == ["NO_INFO", "SUPPORTED", "UNSUPPORTED"]
    assert [s.raw_score for s in verdict.sentences] == [None, 0.05, 0.9]
    assert (verdict.id, verdict.score, verdict.raw_score) == (3, "FAIL", 0.9)
    assert [span.text for span in verdict.spans] == ["It is made of tin."]
    assert verdict.usage.calls == 2
    assert verdict.usage.input_tokens > 0
    assert verdict.usage.output_tokens == 4
    assert (verdict.judge.name, verdict.judge.version) == ("llm-prompt:m", "llm-prompt-v1")


def test_requests_are_short_greedy_and_bound_and_show_replies_in_the_form_that_is_read():
    backend, _ = judged(LlmPrompt("m"), lambda _: {"score": 0.0})
    Draft202012Validator.check_schema(SCHEMA)
    for request in backend.requests:
        assert (request.temperature, request.schema) == (0.0, SCHEMA)
        assert request.max_tokens < 100
    first, second = (request.messages[0].content for request in backend.requests)
    # All but the statement is the same, so that servers can keep it: it comes last.
    assert first.rsplit(" STATEMENT", 1)[0] == second.rsplit(" STATEMENT", 1)[0]
    replies = re.findall(r"^===== END\n(.+)$", first, re.MULTILINE)
    assert len(replies) >= 3
    assert all(isinstance(parse_score(text), float) for text in replies)


@pytest.mark.parametrize(("text", "score"), cases(__file__, "scores"))
def test_scores_that_are_read(text, score):
    assert parse_score(text) == score
    assert str(parse_score(text)) == str(score)


@pytest.mark.parametrize("text", [*cases(__file__, "no_scores"), "9" * 5000, "[" * 100_000])
def test_what_is_no_score_is_unparsed_and_never_grounded(text):
    assert isinstance(parse_score(text), JudgeError)
    replies = [ChatReply(one, "stop", 10, 3) for one in ("0.0", text)]
    _, verdict = judged(LlmPrompt("m"), replies)
    assert (verdict.score, verdict.raw_score, verdict.error.code) == (None, None, "unparsed")
    assert verdict.error.message.startswith("the sentence at 28: ")
    assert verdict.usage == Usage(calls=2, input_tokens=20, output_tokens=6)


@pytest.mark.parametrize(
    ("reply", "code"),
    [(ChatReply("0", "length"), "truncated"), (ChatReply("0", "refused"), "refused")],
)
def test_a_failed_reply_leaves_the_answer_unscored_and_its_neighbours_alone(reply, code):
    backend = Scripted(lambda r: reply if statement(r) == "It is made of tin." else "0.0")
    other = Example(context="x", answer="It was built in 1894.")
    before, verdict, after = PromptedJudge(backend, LlmPrompt("m"))([other, EXAMPLE, other])
    assert (verdict.id, verdict.score, verdict.error.code) == (3, None, code)
    assert before == after
    assert before.score == "PASS"


SECTIONS = ["DOCUMENT 1", "DOCUMENT 2", "QUESTION", "ANSWER", "STATEMENT", "END"]


def structure(prompt):
    mark = re.search(r"a line that starts with (=+)\.", prompt)[1]
    block = prompt.split("Now the statement to rate\n\n", 1)[1]
    heads = re.findall(rf"(?<![^\n]){mark} ([A-Z]+(?: \d+)?)$", block, re.MULTILINE)
    bodies = re.split(rf"(?<![^\n]){mark} [A-Z]+(?: \d+)?(?:\n|\Z)", block)[1:]
    return heads, [body.removesuffix("\n") for body in bodies]


SOUP = st.text(st.sampled_from("=\n\r ENDSTATM{}mark5a.\u2028"))
TEXT = st.tuples(SOUP, SOUP).map("a".join)


@pytest.mark.fuzz
@given(document=TEXT, question=TEXT, answer=TEXT)
def test_no_text_at_all_ends_its_section(document, question, answer):
    example = Example(context=document, question=question, answer=answer)
    backend, _ = judged(LlmPrompt("m"), lambda _: "0.0", example)
    for request in backend.requests:
        heads, bodies = structure(request.messages[0].content)
        assert heads == [SECTIONS[0], *SECTIONS[2:]]
        assert bodies[:3] == [document, question, answer]
