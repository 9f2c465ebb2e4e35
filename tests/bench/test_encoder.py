"""The benches: what they plan and count, and whole runs of them at tiny size."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from moonlynx.judge.backends.pretrained import half_is_slow
from moonlynx.judge.judges.luna.config import LunaConfig
from moonlynx.judge.judges.luna.weights import load_tokenizer

from ..tiny_encoder import POSITIONS, build_tiny_encoder
from .chips import CHIPS, L4, find_chip
from .gpu import GpuBench, Run
from .gpu import render as render_gpu
from .origin import Machine, Origin
from .processes import own_process
from .products import Products, Shape, count_products, measure_rates
from .results import EncoderBench, Measurement, render
from .rounds import Budget
from .subjects import PARTS, LettuceDetect, Work, measure
from .texts import make_examples, make_tokenizer


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "tokenizer.json"
    make_tokenizer(path)
    return load_tokenizer(path)


@pytest.mark.parametrize("tokens", [8, 60, 500, 4_000])
def test_examples_have_the_wanted_tokens(tokenizer, tokens):
    (example,) = make_examples(tokenizer, tokens, 1, seed=5)
    texts = [example.question, *example.context, example.answer]
    counts = [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts]
    assert sum(counts) == tokens
    assert max(counts) <= 500
    unknown = tokenizer.token_to_id("[UNK]")
    assert all(unknown not in tokenizer.encode(text).ids for text in texts)


def test_no_two_examples_are_alike(tokenizer):
    texts = [
        document
        for seed in (1, 2)
        for example in make_examples(tokenizer, 1_200, 2, seed)
        for document in (example.question, *example.context, example.answer)
    ]
    assert len(set(texts)) == len(texts)
    assert make_examples(tokenizer, 300, 2, 1) == make_examples(tokenizer, 300, 2, 1)


def test_a_budget_plans_rounds():
    budget = Budget(seconds=20, rounds=10)
    assert budget.plan(20.1) == 0
    assert budget.plan(15) == 3  # the least, though they take longer
    assert budget.plan(4) == 5
    assert budget.plan(0.1) == 10
    assert budget.plan(0) == 10
    assert Budget(seconds=20, rounds=1).plan(15) == 1


def test_chips_are_found_by_the_drivers_name():
    assert find_chip("NVIDIA L4") is L4
    assert find_chip("NVIDIA A100-SXM4-80GB").name == "A100"
    assert find_chip("NVIDIA H100 80GB HBM3").name == "H100"
    assert find_chip("NVIDIA H200").name == "H200"
    assert find_chip("NVIDIA L40S") is None
    assert find_chip("NVIDIA H200 MIG 1g.18gb") is None
    assert len({chip.name for chip in CHIPS}) == len(CHIPS)


def test_the_floor_is_the_slower_of_arithmetic_and_memory():
    assert L4.floor(flops=121e12, moved=1e9) == 1
    assert L4.floor(flops=1e9, moved=600e9) == 2


@pytest.fixture(scope="module")
def origin():
    return Origin(
        date=datetime(2026, 1, 2, tzinfo=UTC),
        commit=None,
        command="python -m bench",
        python="3.11",
        packages={"numpy": "2"},
        machine=Machine(
            processor="P", features=(), cores=2, memory_gb=4, system="Linux", load=None
        ),
    )


def cells_of(markdown, row):
    line = next(line for line in markdown.splitlines() if row in line)
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_ratios_are_medians_over_the_rounds(origin):
    def measured(name, seconds, floor, parts=None):
        return Measurement(
            tokens=100, batch=2, name=name, seconds=seconds, floor=floor, parts=parts
        )

    parts = dict(zip(PARTS, (0.1, 0.1, 0.2, 0.4, 0.1), strict=True))
    bench = EncoderBench(
        origin=origin,
        weights="random weights",
        window=64,
        base="peer",
        # The machine was ten times slower in the second round.
        measurements=(
            measured("judge", (1.0, 10.0, 1.0), 0.25, parts),
            measured("peer", (2.0, 20.0, 6.0), None),
        ),
        rates={"linear fp32": 5e9},
        peak_mb={"judge": 99.6},
        left_out={"torch": "not here"},
    )
    markdown = render(bench)
    row = ["100", "2", "judge", "3", "1.000", "9.100", "200", "2.00", "4.0"]
    assert cells_of(markdown, "| judge | ") == row
    assert cells_of(markdown, "| peer ")[-2:] == ["1.00", "–"]
    assert cells_of(markdown, "(40%)")[-2:] == ["50.0 (10%)", "50.0 (10%)"]
    assert "- torch: not here" in markdown


def test_the_roofline_translates_between_chips(origin):
    run = Run(
        model="DeBERTa-v3-large",
        form="fp16 eager",
        tokens=4_000,
        seconds=(0.2, 0.2),
        flops=98.9e12,
        weight_bytes=1,
    )
    bench = GpuBench(
        origin=origin, device="NVIDIA H200", window=512, gemm=1e12, runs=(run,), left_out={}
    )
    markdown = render_gpu(bench)
    # 98.9 TFLOP take 0.1 s on an H200 at best, so 0.2 s are twice the floor; 0.82 s on an L4.
    assert cells_of(markdown, "fp16 eager")[-3:] == ["2.0", "0.82", "1.6"]
    assert "(0.3 x floor)" in markdown  # Luna's 0.23 s
    unknown = render_gpu(bench.model_copy(update={"device": "another"}))
    assert cells_of(unknown, "fp16 eager")[-3:] == ["–", "0.82", "–"]


@pytest.mark.heavy
def test_products_are_counted_as_the_formula_says():
    from transformers import BertConfig

    from moonlynx.judge.backends.torch_encoder import make_network

    rows, width, hidden, inner, layers = 3, 16, 32, 64, 2
    config = BertConfig(
        vocab_size=50,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=4,
    )
    network = make_network(config).eval()
    usual = network.trunk.config._attn_implementation
    heads = rows * width * hidden + 2 * rows * hidden  # every token's, and the claim's two
    linear = layers * rows * width * (4 * hidden**2 + 2 * hidden * inner) + heads
    attention = layers * rows * 2 * width**2 * hidden
    assert count_products(network, rows, width) == Products(linear, attention)
    assert network.trunk.config._attn_implementation == usual


@pytest.mark.heavy
def test_every_kind_of_product_has_a_rate():
    rates = measure_rates(Shape(hidden=32, inner=64, heads=2), 16)
    halves = set() if half_is_slow() else {"linear bf16", "attention bf16"}
    assert set(rates) == {"linear fp32", "linear int8", "attention fp32"} | halves
    assert min(rates.values()) > 0


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    folder = build_tiny_encoder(tmp_path_factory.mktemp("weights") / "tiny")
    make_tokenizer(folder / "tokenizer.json")
    config = LunaConfig(version="tiny", window=POSITIONS, lead=12, claim=20)
    (folder / "luna.json").write_text(config.model_dump_json())
    return folder


def run(module, *arguments):
    command = [sys.executable, "-m", f"tests.bench.{module}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_encoder_bench_runs_whole(weights, tmp_path):
    sizes = ("--tokens", 40, "--tokens", 150, "--batch", 2, "--window", POSITIONS)
    limits = ("--seconds", 1_000, "--rounds", 2, "--out", tmp_path)
    done = run("encoder", "--weights", weights, *sizes, *limits)
    assert done.returncode == 0, done.stderr[-3000:]
    bench = EncoderBench.model_validate_json((tmp_path / "encoder.json").read_bytes())
    slow = {"torch bf16"} if half_is_slow() else set()
    names = {"judge on ONNX int8", "torch fp32", "torch bf16", "ONNX fp32", "ONNX int8"} - slow
    assert set(bench.peak_mb) == names
    assert set(bench.left_out) == {"LettuceDetect 17M"} | slow
    assert len(bench.measurements) == 2 * len(names)
    for each in bench.measurements:
        assert len(each.seconds) == 2
        assert each.floor > 0
        assert (each.parts is not None) is each.name.startswith("judge")
        if each.parts:
            assert set(each.parts) == set(PARTS)
            assert min(each.parts.values()) > 0
    # A floor grows with the tokens: of the encoder alone by as much as these, or more.
    floors = {(each.name, each.tokens): each.floor for each in bench.measurements}
    assert floors["ONNX int8", 150] > 150 / 40 * 0.99 * floors["ONNX int8", 40]
    assert bench.origin.command.startswith("python -m tests.bench.encoder --weights")
    assert (tmp_path / "encoder.md").read_text() == render(bench)
    assert done.stdout.strip() == render(bench).strip()


@pytest.mark.heavy
def test_lettucedetect_is_read_by_its_own_package(tmp_path):
    package = Path(__file__).parents[2] / "build" / "lettucedetect"
    if not package.is_dir():
        pytest.skip("`make bench` fetches the package")
    make_tokenizer(tmp_path / "tokenizer.json")
    subject = LettuceDetect("peer", package, tmp_path / "tokenizer.json")
    with own_process() as pool:
        sample = pool.submit(measure, subject, Work(100, 1, 0)).result()
    assert sample.seconds > 0


@pytest.mark.heavy
def test_weights_that_are_none_are_an_error(tmp_path):
    done = run("encoder", "--weights", tmp_path, "--out", tmp_path)
    assert done.returncode == 2
    assert "no form of the encoder can be measured" in done.stderr


@pytest.mark.heavy
def test_the_gpu_bench_runs_dry(tmp_path):
    done = run("gpu", "--dry-run", "--out", tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    bench = GpuBench.model_validate_json((tmp_path / "gpu.json").read_bytes())
    assert bench.left_out == {}
    forms = {(each.model, each.form) for each in bench.runs}
    dtypes, hows = ("fp16", "bf16"), ("eager", "compile")
    models = ("DeBERTa-v3-large", "mini")
    assert forms >= {(m, f"{dtype} {how}") for m in models for dtype in dtypes for how in hows}
    assert all(min(each.seconds) > 0 and each.flops > 0 for each in bench.runs)
    assert bench.gemm > 0
    assert (tmp_path / "gpu.md").read_text() == render_gpu(bench)


@pytest.mark.heavy
def test_without_a_gpu_the_bench_says_so(tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = run("gpu", "--out", tmp_path)
    assert done.returncode == 2
    assert "--dry-run" in done.stderr
    assert list(tmp_path.iterdir()) == []
