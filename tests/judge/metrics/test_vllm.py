import pytest

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.loading import load_metric

from ...conftest import VLLM_HEADS, VLLM_MODEL_LENGTH

pytestmark = pytest.mark.heavy

INPUTS = [
    MetricInput(id="a", input="Who?", output="You are a fool.", context="The tower is red."),
    MetricInput(id="b", input="", output="The river rises. " * 9, context=("One.", "Two.")),
    MetricInput(id="c", input="Call me", output="on 555 0199.", context="几点？ 九点开门。"),
]


def agree(here, there):
    for ours, theirs in zip(here, there, strict=True):
        assert ours.error is None
        assert theirs.error is None
        assert theirs.labels == pytest.approx(ours.labels, abs=1e-3)


def test_transformers_and_vllm_give_the_same_probabilities(vllm_server, heads, tiny_llama):
    for name in VLLM_HEADS:
        here = load_metric(f"luna2:{heads[name]}@transformers")
        there = load_metric(f"luna2:{heads[name]}@{vllm_server}")
        agree(here(INPUTS), there(INPUTS))
        assert here.info == there.info
    # Without a head, and a head that is not served.
    prompted = f"luna2:toxicity@{{}}?backbone={tiny_llama}"
    here, there = (
        load_metric(prompted.format("transformers")),
        load_metric(prompted.format(vllm_server)),
    )
    agree(here(INPUTS), there(INPUTS))
    with pytest.raises(BackendError, match="but no sexism; start vLLM with"):
        load_metric(f"luna2:{heads['sexism']}@{vllm_server}")


def test_long_texts_agree_or_are_too_long_or_read_in_windows(vllm_server, heads):
    long = [MetricInput(input="", output="The bridge was finished in 1894. " * 25)]
    for name in ("pii", "toxicity"):
        here = load_metric(f"luna2:{heads[name]}@transformers")
        agree(here(long), load_metric(f"luna2:{heads[name]}@{vllm_server}")(long))
    long = MetricInput(input="", output="The bridge was finished in 1894. " * 300)
    tone, toxicity = (load_metric(f"luna2:{heads[n]}@{vllm_server}") for n in ("tone", "toxicity"))
    assert tone.backend.positions == VLLM_MODEL_LENGTH
    assert tone([long])[0].error.code == "too_long"
    assert toxicity([long])[0].usage.windows > 1


def test_a_server_that_is_not_there_is_named(heads):
    with pytest.raises(BackendError, match=r"cannot reach http://127\.0\.0\.1:9/v1"):
        load_metric(f"luna2:{heads['toxicity']}@http://127.0.0.1:9/v1")
