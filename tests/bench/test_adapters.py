"""The benches of Luna-2's heads: what they count, and whole runs of them at tiny size."""

import numpy as np
import pytest

from moonlynx.judge.backends.labels import LabelReply, faulty
from moonlynx.judge.contract.types import JudgeError
from moonlynx.judge.decision.cost import load_prices
from moonlynx.judge.metrics.encoder import EMBEDDED, heads_in
from moonlynx.judge.metrics.encoder.head import open_head

from .adapters import compare_engines
from .gpu_luna2 import cost, count_flops, latency
from .lora import draw_adapters, probabilities
from .record import BenchError

SHAPE = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
}


def test_operations_are_those_of_weights_adapter_and_causal_attention():
    tokens = 10
    projections = [(64, 64), (32, 64), (32, 64), (64, 64)]  # q, k, v, o
    weights = 2 * (sum(a * b for a, b in projections) + 3 * 64 * 128)
    lora = 2 * 16 * sum(a + b for a, b in projections)
    pairs = tokens * (tokens + 1) / 2  # of a token and one that it sees, itself among them
    attention = 2 * 2 * 64 * pairs
    assert count_flops(SHAPE, tokens) == 2 * ((weights + lora) * tokens + attention + 64 * 100)


def test_times_stand_beside_the_paper_and_the_roofline():
    found = latency("3B", 15_000, (0.3, 0.3), flops=1e14, rate=5e14).found
    # 100 TFLOP take 0.2 s at 500 TFLOP/s; the paper's H100 takes 0.6 s.
    assert (found["x roofline"], found["of it"]) == pytest.approx((1.5, 0.5))
    assert latency("3B", 20, (0.3, 0.3), flops=1e14, rate=5e14).found["of it"] is None
    assert cost("NVIDIA H200", 3_600) == load_prices().gpu_hours["H200"]
    assert cost("another", 3_600) is None


def test_each_adapter_is_compared_with_itself_and_the_others():
    here = np.array([[0.1, 0.2], [0.8, 0.9]])
    found = compare_engines(here, here + np.array([[0.0], [1e-2]])).found
    assert found["P apart at most"] == pytest.approx(1e-2)
    assert (found["adapters within 0.001"], found["nearest to their own"]) == (1, 2)
    assert compare_engines(here, here[::-1]).found["nearest to their own"] == 0


def test_a_request_that_failed_ends_the_bench():
    good = LabelReply(((-1.0, -1.0),))
    assert probabilities([good]).tolist() == [0.5]
    with pytest.raises(BenchError, match="backend: no"):
        probabilities([good, faulty(JudgeError(code="backend", message="no"))])


@pytest.mark.heavy
def test_drawn_adapters_are_pefts_and_change_the_answer(tiny_llama, tmp_path):
    from moonlynx.judge.backends.transformers_labels import TransformersLabels

    from .lora import write_requests

    first, second = draw_adapters(tiny_llama, 2, tmp_path / "one")
    again, _ = draw_adapters(tiny_llama, 2, tmp_path / "two")
    name = "adapter_model.safetensors"
    assert (first / name).read_bytes() == (again / name).read_bytes()
    assert (first / name).read_bytes() != (second / name).read_bytes()
    backend = TransformersLabels(str(tiny_llama))
    (request,) = write_requests(tiny_llama, 20, 1, seed=0)
    bare = probabilities(backend.score([request]))
    names = [backend.attach("drawn", folder) for folder in (first, second)]
    answers = [
        probabilities(
            backend.score([type(request)(request.prompt, request.places, request.labels, n)])
        )
        for n in names
    ]
    assert np.ptp([bare, *answers]) > 1e-3


@pytest.mark.heavy
def test_the_gpu_bench_goes_its_whole_way_on_the_cpu(bench):
    done, found = bench("gpu_luna2", "--dry-run", "--size", "3B")
    assert done.returncode == 0, done.stderr[-3000:]
    latencies, loads = found.measurements[:2], found.measurements[2:]
    assert [each.of["tokens"] for each in latencies] == [20, 50]
    assert [each.of["adapters"] for each in loads] == [1, 4]
    assert min(min(each.samples) for each in latencies) > 0
    refused, _ = bench("gpu_luna2", "--size", "5B")
    assert refused.returncode == 2
    assert "there is no 5B" in refused.stderr


@pytest.mark.slow
def test_the_real_engine_gives_each_adapters_own_answers(tiny_llama, bench):
    sizes = ("--adapters", 5, "--tokens", 20, "--requests", 16, "--rounds", 1, "--repeats", 2)
    done, found = bench("adapters", "--backbone", tiny_llama, *sizes)
    assert done.returncode == 0, done.stderr[-3000:]
    correct, one, many, *moves = found.measurements
    assert correct.found["adapters within 0.001"] == correct.found["nearest to their own"] == 5
    assert correct.found["P apart at most"] < 1e-3
    assert (one.of, many.of) == ({"adapters at once": 1}, {"adapters at once": 5})
    assert max(each.found["moved at most"] for each in moves) < 1e-3
    again = next(each for each in moves if each.of["asked"].endswith("one by one"))
    assert again.found["changed"] == 0


@pytest.mark.slow
def test_trained_heads_by_the_real_engine_stand_beside_the_embedded_ones(tiny_llama, heads, bench):
    sizes = ("--adapters", 4, "--tokens", 20, "--requests", 4, "--rounds", 1)
    given = ("--head", heads["toxicity"], "--head", heads["tone"])
    done, found = bench("heads", "--backbone", tiny_llama, *given, *sizes)
    assert done.returncode == 0, done.stderr[-3000:]
    correct, *mixes, single, one, every = found.measurements
    assert correct.found["adapters within 0.001"] == correct.found["nearest to their own"] == 2
    assert [each.of["adapters at once"] for each in mixes] == [1, 3, 4]
    assert min(each.found["least"] for each in mixes) > 0
    texts = sum(open_head(EMBEDDED, name).form == "text" for name in heads_in())
    assert [each.of["by"] for each in (single, one, every)] == [
        "one head by vLLM",
        "one of the embedded heads",
        f"all {texts} of the embedded heads",
    ]
    assert min(min(each.samples) for each in (single, one, every)) > 0
