import numpy as np
import pytest

from moonlynx.judge.backends.base import ChatReply
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.contract.types import Example, Turn, Usage
from moonlynx.judge.judges.detectors.bert_stochastic import BertStochastic, bert_score

from ..prompted.scripted import Scripted

DOCUMENT = "The bridge was built in 1894. It is ninety metres long."
QUESTION = "When was the bridge built?"


class OneVectorPerWord:
    """Embeds each distinct word in a direction of its own: cosines are 1 or 0."""

    name = version = "words"

    def __init__(self):
        self.axes = {}
        self.asked = []

    def embed_tokens(self, texts):
        self.asked.append(list(texts))
        rows = np.eye(64, dtype=np.float32)
        return [
            rows[[self.axes.setdefault(w, len(self.axes)) for w in text.lower().split()]]
            for text in texts
        ]


def ask(answer, **fields):
    return Example(question=QUESTION, context=DOCUMENT, answer=answer, **fields)


def row(*values):
    vector = np.array(values, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def test_bert_score_by_hand():
    candidate = np.stack([row(1, 0), row(0, 1)])
    reference = np.stack([row(1, 0), row(1, 1), row(1, -1)])
    # The candidate's tokens match at 1 and √½, the reference's at 1, √½ and √½.
    precision, recall = (1 + 0.5**0.5) / 2, (1 + 2 * 0.5**0.5) / 3
    expected = 2 * precision * recall / (precision + recall)
    assert bert_score(candidate, reference) == pytest.approx(expected, abs=1e-6)
    assert bert_score(reference, candidate) == pytest.approx(expected, abs=1e-6)
    assert bert_score(candidate, candidate) == pytest.approx(1.0)
    assert bert_score(candidate, -candidate) == 0.0
    assert bert_score(candidate, np.empty((0, 2), np.float32)) == 0.0


def test_given_samples_are_compared_and_no_model_is_asked():
    never = FakeBackend(lambda _: pytest.fail("the model was asked"))
    samples = (
        "It rains. The bridge was built in 1894.",
        "The bridge was built in 1901.",
        "No one knows.",
    )
    example = ask("Thanks! The bridge was built in 1894.", samples=samples)
    (verdict,) = BertStochastic(never, OneVectorPerWord(), 2, 0.5)([example])
    # The best sentence of each sample shares 6, 5 and 0 of 6 words.
    assert verdict.raw_score == pytest.approx(1 - (1 + 5 / 6 + 0) / 3, abs=1e-4)
    assert [s.label for s in verdict.sentences] == ["NO_INFO", "SUPPORTED"]
    assert verdict.usage == Usage()
    assert "mean BERTScore of 0.61 with 3 other answers" in verdict.reasoning[1]
    example = ask("- In 1894.", samples=("1. In 1894.\n2. By hand.",))
    (verdict,) = BertStochastic(None, OneVectorPerWord())([example])
    assert verdict.raw_score == 0.0


def test_answers_are_drawn_one_per_seed_without_the_judged_one():
    model = Scripted(lambda request: ("In 1894.", "In 1901.", "In 1894.")[request.seed])
    judge = BertStochastic(model, OneVectorPerWord(), 3)
    (verdict,) = judge([ask("In 1894.")])
    assert verdict.raw_score == pytest.approx(1 - (1 + 1 / 2 + 1) / 3, abs=1e-4)
    assert [(r.seed, r.temperature) for r in model.requests] == [(0, 1.0), (1, 1.0), (2, 1.0)]
    (turn,) = model.requests[0].messages
    assert turn.role == "user"
    assert DOCUMENT in turn.content
    assert QUESTION in turn.content
    assert verdict.usage.calls == 3
    assert verdict.usage.output_tokens == 6
    assert judge.info.version == "1-words-answer-v1-3-fake"
    turns = (Turn(role="user", content="Tell me of bridges."),)
    example = ask("A heron did it.", conversation=turns)
    model = Scripted(["In 1894."])
    BertStochastic(model, OneVectorPerWord(), 1)([example])
    prompt = model.requests[0].messages[-1].content
    assert "heron" not in prompt
    assert "user: Tell me of bridges.\nuser: When was" in prompt


def test_one_failed_sample_leaves_its_example_unscored():
    def reply(request):
        is_bad = "BAD" in request.messages[0].content and request.seed == 1
        return ChatReply("In 18", "length", output_tokens=512) if is_bad else "In 1894."

    judge = BertStochastic(FakeBackend(reply), OneVectorPerWord(), 3)
    bad = Example(id="x", context=f"BAD {DOCUMENT}", answer="In 1894.")
    before, verdict, after = judge([ask("In 1894."), bad, ask("In 1894.")])
    assert (verdict.id, verdict.score, verdict.error.code) == ("x", None, "truncated")
    assert verdict.error.message.startswith("sample 2: ")
    assert verdict.usage.calls == 3
    assert before == after
    assert before.score == "PASS"


def test_samples_without_text_and_missing_samples_give_no_score():
    judge = BertStochastic(FakeBackend(lambda _: " \n"), OneVectorPerWord(), 2)
    drawn, given = judge([ask("In 1894."), ask("In 1894.", samples=("In 1894.", " "))])
    assert (drawn.error.code, given.error.code) == ("backend", "bad_input")
    assert "sample 2" in given.error.message
    judge = BertStochastic(None, OneVectorPerWord())
    none, some = judge([ask("In 1894."), ask("In 1894.", samples=("In 1894.",))])
    assert (none.score, none.error.code) == (None, "bad_input")
    assert "no chat model" in none.error.message
    assert some.score == "PASS"
    assert judge.info.version == "1-words"
