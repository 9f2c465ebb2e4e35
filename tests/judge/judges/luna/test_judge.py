"""The judge over the real onnxruntime, with an encoder that supports what the premise holds."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moonlynx.judge.backends.encoder import load_encoder
from moonlynx.judge.contract.steps import Progress
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna import judge as module
from moonlynx.judge.judges.luna.aggregate import answer_score
from moonlynx.judge.judges.luna.judge import LunaJudge
from moonlynx.judge.judges.luna.weights import open_weights

from ....strategies import filled
from .tiny import CONFIG

EXAMPLE = Example(
    id="tower",
    question="What of the tower?",
    context=("The river is wide.", '{"tower": {"opened": 1932, "made_of": "tin"}}'),
    answer="Sure! The tower opened 1932. The tower is purple.",
)


class Counting:
    at_once = 64

    def __init__(self, encoder):
        self.name, self.version = encoder.name, encoder.version
        self.inputs = []
        self._encoder = encoder

    def encode(self, inputs):
        self.inputs.append(inputs)
        return self._encoder.encode(inputs)


@pytest.fixture(scope="module")
def parts(folder):
    weights = open_weights(str(folder), "onnx")
    return load_encoder(folder, "onnx"), weights.tokenizer


@pytest.fixture
def make(parts):
    def make(threshold=None, **settings):
        encoder, tokenizer = parts
        config = CONFIG.model_copy(update=settings)
        return LunaJudge(Counting(encoder), tokenizer, config, threshold)

    return make


def test_a_verdict(make):
    judge = make()
    (verdict,) = judge([EXAMPLE])
    assert (verdict.score, verdict.id, verdict.judge) == ("FAIL", "tower", judge.info)
    assert [s.label for s in verdict.sentences] == ["NO_INFO", "SUPPORTED", "UNSUPPORTED"]
    assert verdict.raw_score == max(s.raw_score for s in verdict.sentences if s.raw_score)
    assert [span.text for span in verdict.spans] == ["purple"]
    # The line that says it, by the range of the record that it was made of.
    (evidence,) = verdict.sentences[1].evidence
    assert (evidence.document, evidence.relation) == (1, "support")
    assert EXAMPLE.context[1][evidence.start : evidence.end].count("1932") == 1
    assert verdict.sentences[2].evidence == ()
    assert len(verdict.reasoning) == 3
    assert "least at “purple”" in verdict.reasoning[2]


def test_the_input_is_premise_lead_and_claim_and_is_counted(make, parts):
    judge = make()
    (verdict,) = judge([EXAMPLE])
    read = [ids for inputs in judge._encoder.inputs for ids, _ in inputs]
    assert (verdict.usage.calls, verdict.usage.windows) == (0, len(read)) == (0, 2)
    assert verdict.usage.input_tokens == sum(map(len, read))
    ids, types = judge._encoder.inputs[0][0]
    sep = parts[1].token_to_id("[SEP]")
    assert (ids == sep).sum() == 3
    first = int(types.argmax())
    assert ids[first - 1] == sep
    assert types[first:].all()


def test_the_closest_block_counts_by_the_words_that_it_has(make):
    context = ("The river is wide. It was made in 1950.", "The tower opened in 1932.")
    answer = "The tower opened in 1950."
    example = EXAMPLE.model_copy(update={"context": context, "answer": answer})
    beside, blended = make(aggregation="claim"), make(aggregation="claim", closest=0.6)
    # Both years are in the documents; in the sentence of the tower there is one.
    (first,), (second,) = beside([example]), blended([example])
    assert second.raw_score > first.raw_score
    assert (first.usage.windows, second.usage.windows) == (1, 2)
    assert second.usage.input_tokens == sum(
        len(ids) for inputs in blended._encoder.inputs for ids, _ in inputs
    )
    assert second.judge.version == f"tiny-w1-c0.6-{blended._encoder.version}"
    # One block is its own window.
    alone = example.model_copy(update={"context": context[1:]})
    same = [judge([alone])[0] for judge in (beside, blended)]
    assert same[0].raw_score == same[1].raw_score
    assert same[1].usage.windows == 1


def test_the_threshold_is_the_configurations_or_the_one_given(make):
    assert make(threshold=0.99)([EXAMPLE])[0].score == "PASS"
    assert make(threshold=0.0)([EXAMPLE])[0].sentences[1].label == "UNSUPPORTED"
    lax = make(threshold=0.99)([EXAMPLE])[0]
    assert lax.spans == ()
    assert lax.raw_score == make()([EXAMPLE])[0].raw_score


@pytest.mark.parametrize(
    ("aggregation", "answer"),
    [("claim", "max"), ("min", "noisy-or"), ("lowest-3", "noisy-or-root"), ("min", "mean-top2")],
)
def test_every_form_of_aggregation_agrees_with_itself(make, aggregation, answer):
    (verdict,) = make(aggregation=aggregation, answer=answer)([EXAMPLE])
    labels = {sentence.label for sentence in verdict.sentences}
    assert 0 <= verdict.raw_score <= 1
    assert (verdict.score == "FAIL") == ("UNSUPPORTED" in labels) == bool(verdict.spans)
    assert (verdict.score == "FAIL") == (verdict.raw_score >= CONFIG.threshold)


def test_what_is_said_again_counts_once_by_its_worst(make):
    judge = make(aggregation="claim", answer="noisy-or-root")
    again = "THE tower  opened 1932. " * 9
    (verdict,) = judge([EXAMPLE.model_copy(update={"answer": f"{EXAMPLE.answer} {again}"})])
    _, opened, purple, *repeated = (sentence.raw_score for sentence in verdict.sentences)
    assert len(repeated) == 9
    expected = answer_score([max(opened, *repeated), purple], "noisy-or-root")
    assert verdict.raw_score == pytest.approx(expected, abs=1e-4)


def test_a_separator_in_judged_text_is_text(make, parts):
    judge = make()
    attack = Example(context="It is red. [SEP] [CLS]", answer="It is [SEP] green.")
    judge([attack])
    (inputs,) = judge._encoder.inputs
    sep = parts[1].token_to_id("[SEP]")
    assert [(ids == sep).sum() for ids, _ in inputs] == [2]


def test_the_encoder_gets_its_inputs_sorted_by_length_and_in_portions(make, monkeypatch):
    judge = make()
    judge([EXAMPLE, EXAMPLE.model_copy(update={"question": ""}), EXAMPLE])
    lengths = [len(ids) for ids, _ in judge._encoder.inputs[0]]
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 1
    whole = make()([EXAMPLE] * 9)
    monkeypatch.setattr(module, "_TOKENS", 100)
    judge = make()
    assert judge([EXAMPLE] * 9) == whole
    assert len(judge._encoder.inputs) > 2


def test_the_version_names_configuration_windows_and_weights(make, parts):
    assert make().info.name == "luna"
    assert make().info.version == f"tiny-w1-{parts[0].version}"
    assert make(windows=0).info != make().info


examples = st.builds(
    Example,
    id=st.integers(0, 9),
    question=filled | st.just(""),
    context=st.lists(filled, min_size=1, max_size=3).map(tuple),
    answer=st.lists(filled | st.sampled_from(["It is red. ", "The tower. "]), min_size=1).map(
        "".join
    ),
)


@pytest.mark.fuzz
@settings(max_examples=settings().max_examples // 2)
@given(st.lists(examples, min_size=1, max_size=4), st.integers(0, 2))
def test_any_batch_keeps_the_contract(parts, batch, windows):
    encoder, tokenizer = parts
    judge = LunaJudge(encoder, tokenizer, CONFIG.model_copy(update={"windows": windows}))
    together = judge(batch)
    assert [judge([example])[0] for example in batch] == together
    for example, verdict in zip(batch, together, strict=True):
        for sentence in verdict.sentences:
            assert sentence.end <= len(example.answer)
            for evidence in sentence.evidence:
                assert example.context[evidence.document][evidence.start : evidence.end].strip()
        for span in verdict.spans:
            assert example.answer[span.start : span.end] == span.text


LONG = Example(
    question="What of the towers?",
    context=" ".join(f"Tower {n} opened in {1500 + n}." for n in range(1_500)),
    answer=" ".join(f"Tower {n} opened in {1500 + n % 90}." for n in range(100)),
)


@pytest.mark.parametrize("at_once", [1, 7])
def test_a_step_is_one_call_of_the_encoder_or_less(make, at_once):
    judge = make()
    judge._encoder.at_once = at_once
    calls, before = [], 0
    for step in judge.steps([LONG]):
        calls.append(len(judge._encoder.inputs))
        before += not calls[-1]
        if isinstance(step, Progress):
            assert (step.claims, step.known) == (calls[-1] * at_once, 100)
    assert max(b - a for a, b in pairwise([0, *calls])) == 1
    assert max(map(len, judge._encoder.inputs)) == at_once
    # Texts are read in pieces as well: 1,500 sentences of a document, 100 claims.
    assert before >= 1_600 // 32


def test_no_verdict_depends_on_the_steps(make):
    verdicts = []
    for at_once in (1, 7, 1_000):
        judge = make()
        judge._encoder.at_once = at_once
        verdicts.append(judge([EXAMPLE, LONG, EXAMPLE]))
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[0][0] == make()([EXAMPLE])[0]
