"""The benches of Luna-2's heads: what they count, and whole runs of them at tiny size."""

import json
import subprocess
import sys

import numpy as np
import pytest

from moonlynx.judge.backends.labels import LabelReply, faulty
from moonlynx.judge.contract.types import JudgeError
from moonlynx.judge.decision.cost import load_prices

from .adapters_report import AdapterBench, Correct, Moves, Plan, Speed
from .adapters_report import render as render_adapters
from .gpu_luna2 import count_flops
from .gpu_luna2_report import HeadsBench, Latency, Load, render
from .lora import NotAnswered, chances, draw_adapters
from .origin import Origin

SHAPE = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
}


def run(module, *arguments):
    command = [sys.executable, "-m", f"tests.bench.{module}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def cells_of(markdown, row):
    line = next(line for line in markdown.splitlines() if row in line)
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture
def origin():
    return Origin.of("bench", ())


def test_operations_are_those_of_weights_adapter_and_causal_attention():
    tokens = 10
    projections = [(64, 64), (32, 64), (32, 64), (64, 64)]  # q, k, v, o
    weights = 2 * (sum(a * b for a, b in projections) + 3 * 64 * 128)
    lora = 2 * 16 * sum(a + b for a, b in projections)
    pairs = tokens * (tokens + 1) / 2  # of a token and one that it sees, itself among them
    attention = 2 * 2 * 64 * pairs
    assert count_flops(SHAPE, tokens) == 2 * ((weights + lora) * tokens + attention + 64 * 100)


def test_times_stand_beside_the_paper_and_the_floor(origin):
    bench = HeadsBench(
        origin=origin,
        device="NVIDIA H200",
        gemm=5e14,
        bytes_of_adapter={"3B": 9_000_000},
        latencies=(Latency(size="3B", tokens=15_000, seconds=(0.3, 0.3), flops=1e14),),
        loads=(
            Load(
                size="3B", adapters=64, tokens=1_250, requests=200, batch=8, seconds=10, flops=1e15
            ),
        ),
    )
    markdown = render(bench)
    # 100 TFLOP take 0.2 s at 500 TFLOP/s; the paper's H100 takes 0.6 s.
    assert cells_of(markdown, "15,000") == [
        "3B",
        "15,000",
        "300.0",
        "300.0",
        "100",
        "1.50",
        "600",
        "0.50",
    ]
    hour = load_prices().gpu_hours["H200"]
    cost = f"{1000 * 10 / 200 * hour / 3600:.4f}"
    assert cells_of(markdown, "1,250 |")[-3:] == ["20.0", "5.00", cost]
    elsewhere = render(bench.model_copy(update={"device": "another"}))
    assert cells_of(elsewhere, "1,250 |")[-1] == "–"


def test_adapters_are_told_beside_one_adapters_speed(origin, tmp_path):
    plan = Plan(
        backbone=tmp_path,
        adapters=4,
        slots=4,
        mixes=(1, 4),
        tokens=9,
        requests=16,
        rounds=1,
        repeats=1,
    )
    bench = AdapterBench(
        origin=origin,
        plan=plan,
        prompt=20,
        seconds_to_start=3,
        bytes_of_adapter=1_000,
        correct=Correct(prompts=4, most=1e-6, agree=4, own=4, apart=0.2),
        speeds=(Speed(adapters=1, rates=(10.0, 20.0)), Speed(adapters=4, rates=(3.0,))),
        moves=(Moves(what="asked again", compared=16, changed=0, most=0.0),),
    )
    markdown = render_adapters(bench)
    assert "4 of 4 adapters give the same" in markdown
    assert cells_of(markdown, " 3.0 to 3.0")[-1] == "0.20"
    assert cells_of(markdown, "asked again") == ["asked again", "16", "0", "0.0e+00"]


def test_a_request_that_failed_ends_the_bench():
    good = LabelReply(((-1.0, -1.0),))
    assert chances([good]).tolist() == [0.5]
    with pytest.raises(NotAnswered, match="backend: no"):
        chances([good, faulty(JudgeError(code="backend", message="no"))])


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
    bare = chances(backend.score([request]))
    names = [backend.attach("drawn", folder) for folder in (first, second)]
    answers = [
        chances(backend.score([type(request)(request.prompt, request.places, request.labels, n)]))
        for n in names
    ]
    assert np.ptp([bare, *answers]) > 1e-3


@pytest.mark.heavy
def test_the_gpu_bench_goes_its_whole_way_on_the_cpu(tmp_path):
    done = run("gpu_luna2", "--dry-run", "--size", "3B", "--out", tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    bench = HeadsBench.model_validate_json((tmp_path / "gpu-luna2.json").read_bytes())
    assert [each.tokens for each in bench.latencies] == [20, 50]
    assert [each.adapters for each in bench.loads] == [1, 4]
    assert min(min(each.seconds) for each in bench.latencies) > 0
    assert (tmp_path / "gpu-luna2.md").read_text() == render(bench)
    refused = run("gpu_luna2", "--size", "5B")
    assert refused.returncode == 2
    assert "there is no 5B" in refused.stderr


@pytest.mark.slow
def test_the_real_engine_gives_each_adapters_own_answers(tiny_llama, tmp_path):
    sizes = ("--adapters", 5, "--tokens", 20, "--requests", 16, "--rounds", 1, "--repeats", 2)
    done = run("adapters", "--backbone", tiny_llama, *sizes, "--out", tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((tmp_path / "adapters.json").read_text())
    assert found["correct"]["agree"] == 5
    assert found["correct"]["own"] == 5
    assert found["correct"]["most"] < 1e-3
    assert [each["adapters"] for each in found["speeds"]] == [1, 5]
    assert max(each["most"] for each in found["moves"]) < 1e-3
    again = next(each for each in found["moves"] if each["what"].endswith("one by one"))
    assert again["changed"] == 0
