"""In this process and by vLLM's own server with LoRA: the same probabilities, whichever runs it."""

import asyncio

import pytest

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.loading import load_metric

from ...conftest import VLLM_MODEL_LENGTH, serving

pytestmark = pytest.mark.heavy

SERVED = ("toxicity", "tone", "pii", "context_adherence")
INPUTS = [
    MetricInput(id="a", input="Who?", output="You are a fool.", context="The tower is red."),
    MetricInput(id="b", input="", output="The river rises. " * 9, context=("One.", "Two.")),
    MetricInput(id="c", input="Call me", output="on 555 0199.", context="几点？ 九点开门。"),
]


@pytest.fixture(scope="module")
def server(tiny_llama, heads, tmp_path_factory):
    modules = [f"{name}={heads[name]}" for name in SERVED]
    options = ["--max-model-len", str(VLLM_MODEL_LENGTH), "--enable-lora", "--max-lora-rank", "16"]
    options += ["--max-loras", "4", "--lora-modules", *modules]
    with serving(tiny_llama, tmp_path_factory.mktemp("vllm") / "server.log", *options) as url:
        yield url


def agree(here, there):
    for ours, theirs in zip(here, there, strict=True):
        assert ours.error is None
        assert theirs.error is None
        assert theirs.labels == pytest.approx(ours.labels, abs=1e-3)


def test_transformers_and_vllm_give_the_same_probabilities(server, heads, tiny_llama):
    for name in SERVED:
        here = load_metric(f"luna2:{heads[name]}@transformers")
        there = load_metric(f"luna2:{heads[name]}@{server}")
        verdicts = there(INPUTS)
        agree(here(INPUTS), verdicts)
        assert asyncio.run(there.acall(INPUTS)) == verdicts
        assert here.info == there.info
    # Without a head, and a head that is not served.
    prompted = f"luna2:toxicity@{{}}?backbone={tiny_llama}"
    here, there = load_metric(prompted.format("transformers")), load_metric(prompted.format(server))
    agree(here(INPUTS), there(INPUTS))
    with pytest.raises(BackendError, match="but no sexism; start vLLM with"):
        load_metric(f"luna2:{heads['sexism']}@{server}")


def test_each_label_of_a_long_text_agrees_too(server, heads):
    long = [MetricInput(input="", output="The bridge was finished in 1894. " * 25)]
    for name in ("pii", "toxicity"):
        here = load_metric(f"luna2:{heads[name]}@transformers")
        agree(here(long), load_metric(f"luna2:{heads[name]}@{server}")(long))


def test_too_long_for_the_server_is_said_or_read_in_windows(server, heads):
    long = MetricInput(input="", output="The bridge was finished in 1894. " * 300)
    tone, toxicity = (load_metric(f"luna2:{heads[n]}@{server}") for n in ("tone", "toxicity"))
    assert tone.backend.positions == VLLM_MODEL_LENGTH
    assert tone([long])[0].error.code == "too_long"
    assert toxicity([long])[0].usage.windows > 1


def test_a_server_that_is_not_there_is_named(heads):
    with pytest.raises(BackendError, match=r"cannot reach http://127\.0\.0\.1:9/v1"):
        load_metric(f"luna2:{heads['toxicity']}@http://127.0.0.1:9/v1")
