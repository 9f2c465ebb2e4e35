import re
from math import log

import pytest
from jsonschema import Draft202012Validator

from moonlynx.judge.backends.base import ChatReply, ReplyToken
from moonlynx.judge.judges.prompted.raghalu import RagHaluPrompt
from moonlynx.judge.judges.talk import PromptedJudge
from moonlynx.judge.prompts import load_prompt

from ....cases import cases
from .scripted import EXAMPLE, Scripted, section

LABELS = {"It was built in 1894.": "SUPPORTED", "It is made of tin.": "UNSUPPORTED"}


def judge(reply, **options):
    backend = Scripted(reply)
    return backend, PromptedJudge(backend, RagHaluPrompt("m", **options))


def label_all(request):
    facts = re.findall(r"^(\d+)\. (.*)$", section(request, "FACT LIST"), re.MULTILINE)
    return {number: LABELS.get(fact, "NO-INFO") for number, fact in facts}


@pytest.mark.parametrize(("sentences", "calls"), [("one", 2), ("many", 1)])
@pytest.mark.parametrize("labels", [2, 3])
def test_each_sentence_is_labelled(labels, sentences, calls):
    backend, asking = judge(label_all, labels=labels, sentences=sentences)
    (verdict,) = asking([EXAMPLE])
    assert [s.label for s in verdict.sentences] == ["NO_INFO", "SUPPORTED", "UNSUPPORTED"]
    assert (verdict.id, verdict.score, verdict.raw_score) == (3, "FAIL", 1.0)
    assert [span.text for span in verdict.spans] == ["It is made of tin."]
    assert verdict.usage.calls == len(backend.requests) == calls
    assert asking.info.name == "raghalu-prompt:m"
    assert asking.info.version == f"raghalu-{labels}-label-v1-{sentences}-graded"


def test_the_third_label_is_no_info():
    (verdict,) = judge(lambda _: {"1": "no_info"}, labels=3)[1]([EXAMPLE])
    assert (verdict.score, {s.label for s in verdict.sentences}) == ("PASS", {"NO_INFO"})
    (verdict,) = judge(lambda _: {"1": "NO-INFO"}, labels=2)[1]([EXAMPLE])
    assert (verdict.score, verdict.error.code) == (None, "unparsed"), "two labels have no third"


def test_of_two_tiers_the_first_sees_no_document_and_leaves_out_what_cannot_be_verified():
    def label(request):
        if request.schema["properties"]["1"]["enum"] == ["VERIFIABLE", "NO-INFO"]:
            assert "DOCUMENT" not in request.messages[0].content
            return {"1": "no_info" if "tin" in section(request, "FACT LIST") else "VERIFIABLE"}
        return label_all(request)

    backend, asking = judge(label, tiers=2)
    (verdict,) = asking([EXAMPLE])
    assert [s.label for s in verdict.sentences] == ["NO_INFO", "SUPPORTED", "NO_INFO"]
    assert (verdict.score, verdict.usage.calls, len(backend.requests)) == ("PASS", 3, 3)
    assert asking.info.version == "raghalu-verifiable-v1+raghalu-2-label-v1-one-graded"
    (verdict,) = judge(lambda _: {"1": "NO-INFO"}, tiers=2)[1]([EXAMPLE])
    assert (verdict.score, verdict.usage.calls) == ("PASS", 2)
    (verdict,) = judge(lambda _: {"1": "SUPPORTED"}, tiers=2)[1]([EXAMPLE])
    assert verdict.error.code == "unparsed"


def spelled(labels, tops):
    """Reply with labels by number, each in two tokens; `tops` has the first's alternatives."""
    tokens = []
    for (number, label), top in zip(labels.items(), tops, strict=True):
        tokens.append(ReplyToken(f'{", " if tokens else "{"}"{number}": "', 0.0))
        ranked = sorted(top.items(), key=lambda one: -one[1])
        tokens.append(ReplyToken(label[:2], top[label[:2]], tuple(ranked)))
        tokens.append(ReplyToken(f'{label[2:]}"', 0.0))
    tokens.append(ReplyToken("}", 0.0))
    return ChatReply("".join(token.text for token in tokens), "stop", tokens=tuple(tokens))


def nats(**shares):
    return {text: log(share) for text, share in shares.items()}


@pytest.mark.parametrize("labels", [2, 3])
def test_a_score_is_the_share_of_unsupported_beside_supported(labels):
    said = {"1": "SUPPORTED", "2": "UNSUPPORTED"}
    tops = [nats(SU=0.6, UN=0.2, NO=0.2), nats(SU=0.1, UN=0.3, S=0.1, _=0.5)]
    options = {"labels": labels, "sentences": "many"}
    (verdict,) = judge(lambda _: spelled(said, tops), **options)[1]([EXAMPLE])
    assert [s.raw_score for s in verdict.sentences[1:]] == [0.25, 0.6]
    assert (verdict.score, verdict.raw_score) == ("FAIL", 0.6)
    (verdict,) = judge(lambda _: spelled(said, tops), **options, threshold=0.7)[1]([EXAMPLE])
    assert (verdict.score, verdict.spans) == ("PASS", ())


def test_without_alternatives_the_label_is_the_score():
    said = {"1": "SUPPORTED", "2": "UNSUPPORTED"}
    tops = [nats(SU=1.0), {"UN": -1.0}]
    (verdict,) = judge(lambda _: spelled(said, tops), sentences="many")[1]([EXAMPLE])
    assert [s.raw_score for s in verdict.sentences[1:]] == [0.0, 1.0]
    lower = {number: label.lower() for number, label in said.items()}
    (verdict,) = judge(lambda _: lower, sentences="many")[1]([EXAMPLE])
    assert [s.raw_score for s in verdict.sentences[1:]] == [0.0, 1.0]


CUT = (ChatReply('{"1": "SUPP', "length"), None, "truncated")
LEFT_OUT = [*cases(__file__, "left_out"), CUT]


@pytest.mark.parametrize(("reply", "score", "code"), LEFT_OUT)
def test_a_sentence_that_was_left_out_is_not_supported(reply, score, code):
    (verdict,) = judge(lambda _: reply, sentences="many")[1]([EXAMPLE])
    assert verdict.score == score
    assert (verdict.error and verdict.error.code) == code


def test_requests_are_short_greedy_and_bound():
    backend, asking = judge(label_all, labels=3, sentences="many")
    asking([EXAMPLE])
    (request,) = backend.requests
    Draft202012Validator.check_schema(request.schema)
    assert request.schema["required"] == ["1", "2"]
    assert request.schema["properties"]["2"]["enum"] == ["SUPPORTED", "UNSUPPORTED", "NO-INFO"]
    assert request.temperature == 0.0
    assert request.max_tokens < 100
    assert section(request, "FACT LIST") == "1. It was built in 1894.\n2. It is made of tin."


@pytest.mark.parametrize("labels", [2, 3])
def test_the_instructions_are_the_papers_word_for_word(labels):
    """Appendix A.2, its line wraps undone."""
    words = """The "Fact List" below represents responses to a user question. Your job is to
        determine whether each response in the "Fact List" is supported by the information in the
        "Provided Text". Apply one of the following labels to each response in the "Fact List":
        * SUPPORTED: use this label if the response is found in the "Provided Text".
        * UNSUPPORTED: use this label if the response is either not found or contradicted in the
        "Provided Text"."""
    if labels == 3:
        words += """ * NO-INFO: use if the response does not present information that can be
        factually verified. This includes responses like "Is there anything else I can help you
        with?", as well as greetings and small talk that is not intended to convey verifiable
        truths or falsehoods. Examples: 1. How are you today? - NO-INFO"""
    prompt = load_prompt(f"raghalu-{labels}-label-v1").split()
    assert prompt[: len(words.split())] == words.split()
    assert prompt[-2:] == ["Fact", "Check:"]
