import shutil

import pytest

from moonlynx.judge.contract.spec import SpecError
from moonlynx.judge.contract.types import Example, MetricInput, MoonlynxError
from moonlynx.judge.metrics.adapter import Scaling
from moonlynx.judge.metrics.loading import load_metric
from moonlynx.judge.metrics.metric import Metric, run_together
from moonlynx.judge.registry import load_judge

from ...cases import cases
from .tiny_heads import build_head

pytestmark = pytest.mark.heavy

INPUTS = [
    MetricInput(id="a", input="Who is there?", output="You are a fool, and so is the town."),
    MetricInput(id="b", input="", output="The river rises in the northern hills. " * 4),
    MetricInput(id="c", input="Call me", output="on 555 0199, or write to the bridge."),
]


def near(verdict):
    return pytest.approx(verdict.labels, abs=1e-5)


def test_every_kind_gives_a_probability_for_each_class(heads):
    for name in ("toxicity", "tone", "pii"):
        metric = load_metric(f"luna2:{heads[name]}@transformers")
        assert isinstance(metric, Metric)
        verdicts = metric(INPUTS)
        assert [verdict.id for verdict in verdicts] == ["a", "b", "c"]
        for verdict in verdicts:
            assert verdict.metric == name
            assert list(verdict.labels) == list(metric.definition.classes)
            if name != "pii":
                assert sum(verdict.labels.values()) == pytest.approx(1, abs=1e-5)
            assert verdict.usage.calls == verdict.usage.windows == 1
        assert len({tuple(verdict.labels.values()) for verdict in verdicts}) == 3
        assert metric(INPUTS[::-1]) == verdicts[::-1]
        assert [metric([one])[0] for one in INPUTS] == verdicts
        assert metric(INPUTS) == verdicts
        assert metric([]) == []


def test_heads_mixed_in_one_batch_say_what_they_say_alone(heads):
    names = ("toxicity", "sexism", "tone", "pii")
    alone = [load_metric(f"luna2:{heads[name]}@transformers")(INPUTS) for name in names]
    metrics = [load_metric(f"luna2:{heads[name]}@transformers?batch=5") for name in names]
    assert len({id(metric.backend) for metric in metrics}) == 1
    together = run_together(metrics, INPUTS)
    for one, other in zip(alone, together, strict=True):
        for expected, found in zip(one, other, strict=True):
            assert (found.id, found.metric) == (expected.id, expected.metric)
            assert found.labels == near(expected)
    assert alone[0][0].labels != near(alone[1][0]), "the heads differ"


def test_the_backbone_itself_beside_a_head(heads, tiny_llama):
    prompted = f"luna2:toxicity@transformers?batch=4&backbone={tiny_llama}"
    before = load_metric(prompted)(INPUTS)
    head = load_metric(f"luna2:{heads['toxicity']}@transformers?batch=4")
    again = load_metric(prompted)
    assert again.backend is head.backend
    found, trained = run_together([again, head], INPUTS)
    for one, other, moved in zip(before, found, trained, strict=True):
        assert one.labels == near(other)
        assert one.labels != near(moved)
    assert not again.calibrated
    assert head.calibrated


def test_labels_read_in_one_pass_are_those_of_passes_of_their_own(heads):
    from moonlynx.judge.backends.labels import LabelRequest

    metric = load_metric(f"luna2:{heads['pii']}@transformers")
    (request,) = metric.prepare(INPUTS[2]).requests
    assert len(request.places) == len(metric.definition.classes)
    (reply,) = metric.backend.score([request])
    for place, logprobs in zip(request.places, reply.logprobs, strict=True):
        alone = LabelRequest(request.prompt[:place], (place,), request.labels, request.adapter)
        assert metric.backend.score([alone])[0].logprobs[0] == pytest.approx(logprobs, abs=1e-4)


def test_temperature_and_bias_are_applied(heads, tiny_llama, tmp_path):
    scaling = Scaling(temperature=3.0, bias={"true": 0.7})
    scaled = build_head(tmp_path / "scaled", tiny_llama, "toxicity", 0, scaling=scaling)
    (plain,) = load_metric(f"luna2:{heads['toxicity']}@transformers")(INPUTS[:1])
    (found,) = load_metric(f"luna2:{scaled}@transformers")(INPUTS[:1])
    odds = plain.labels["true"] / plain.labels["false"]
    expected = odds ** (1 / 3) * 2.718281828**0.7
    assert found.labels["true"] / found.labels["false"] == pytest.approx(expected, rel=1e-3)


def test_what_is_too_long_goes_in_windows_or_is_refused(heads):
    long = "The bridge was finished in 1894. " * 700
    toxicity = load_metric(f"luna2:{heads['toxicity']}@transformers")
    (verdict,) = toxicity([MetricInput(input="", output=long)])
    assert verdict.error is None
    assert verdict.usage.windows == verdict.usage.calls > 1
    assert sum(verdict.labels.values()) == pytest.approx(1, abs=1e-5)
    tone = load_metric(f"luna2:{heads['tone']}@transformers")
    refused, taken = tone([MetricInput(input="", output=long), INPUTS[0]])
    assert refused.error.code == "too_long"
    assert taken.error is None
    # What may not be cut leaves no room.
    adherence = load_metric(f"luna2:{heads['context_adherence']}@transformers")
    (verdict,) = adherence([MetricInput(input="", output=long, context=("Short.",))])
    assert verdict.error.code == "too_long"


def test_a_window_that_bears_the_answer_out_is_enough(heads):
    adherence = load_metric(f"luna2:{heads['context_adherence']}@transformers")
    documents = tuple(f"Document {number}: the tower is red. " * 40 for number in range(12))
    one = MetricInput(input="", output="The tower is red.", context=documents)
    job = adherence.prepare(one)
    assert len(job.requests) > 1
    (verdict,) = adherence([one])
    each = [
        adherence.finish(one, job._replace(requests=(request,)), [reply])
        for request, reply in zip(job.requests, adherence.backend.score(job.requests), strict=True)
    ]
    assert verdict.labels["true"] == max(window.labels["true"] for window in each)


def test_context_adherence_is_a_judge(heads):
    judge = load_judge(f"luna2:{heads['context_adherence']}@transformers")
    example = Example(id=1, question="When?", context="It opened in 1932.", answer="In 1950.")
    thanks = Example(id=2, context="It opened in 1932.", answer="I'm sorry, but I don't know.")
    verdict, nothing = judge([example, thanks])
    metric = load_metric(f"luna2:{heads['context_adherence']}@transformers")
    (found,) = metric([MetricInput(input="When?", output="In 1950.", context="It opened in 1932.")])
    assert verdict.probability == found.labels["false"]
    assert verdict.score == ("FAIL" if verdict.probability >= 0.5 else "PASS")
    assert nothing.score == "PASS"
    assert nothing.sentences[0].label == "NO_INFO"
    other = load_judge(f"luna2:{heads['context_adherence']}@transformers?threshold=-20")
    assert other([example])[0].score == "FAIL"
    with pytest.raises(SpecError, match="toxicity is no judge of answers"):
        load_judge(f"luna2:{heads['toxicity']}@transformers")


@pytest.mark.parametrize(("name", "error", "message"), cases(__file__, "lead_nowhere"))
def test_a_name_that_leads_nowhere_is_refused(heads, tiny_llama, tmp_path, name, error, message):
    broken = shutil.copytree(heads["toxicity"], tmp_path / "broken")
    (broken / "adapter_model.safetensors").unlink()
    other = shutil.copytree(tiny_llama, tmp_path / "other")
    (other / "config.json").write_text((other / "config.json").read_text() + " ")
    paths = {"tiny": tiny_llama, "head": heads["toxicity"], "broken": broken, "other": other}
    with pytest.raises(MoonlynxError, match=message) as raised:
        load_metric(name.format(**paths))
    assert type(raised.value).__name__ == error
