"""The benches: what they plan and count, and whole runs of them at tiny size."""

from pathlib import Path

import pytest

from moonlynx.judge.backends.pretrained import half_is_slow
from moonlynx.judge.judges.luna.config import LunaConfig
from moonlynx.judge.judges.luna.weights import load_tokenizer

from ..tiny_encoder import POSITIONS, build_tiny_encoder
from .encoder import collect
from .forms import Forms
from .gpu import CHIPS, L4, LARGE, find_chip, one_pass
from .products import Products, Shape, count_products, measure_rates
from .record import Origin, render
from .rounds import Budget, Cell, Rounds
from .subjects import PARTS, Sample
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


def test_the_roofline_is_the_slower_of_arithmetic_and_memory():
    assert L4.roofline(flops=121e12, moved=1e9) == 1
    assert L4.roofline(flops=1e9, moved=600e9) == 2


def test_ratios_are_medians_over_the_rounds():
    def sampled(*seconds, **facts):
        return [Sample(each, 99.6, facts) for each in seconds]

    steps = dict(zip(PARTS, (0.1, 0.1, 0.2, 0.4, 0.1), strict=True))
    # The machine was ten times slower in the second round.
    samples = {
        "judge on ONNX fp32": sampled(1.0, 10.0, 1.0, read=64, squares=64**2, **steps),
        "LettuceDetect 17M": sampled(2.0, 20.0, 6.0),
        "products alone": sampled(0.1, **{"linear fp32": 4e9, "attention fp32": 4e9}),
    }
    forms = Forms("random weights", products=Products(linear=5e8, attention=5e8))
    rounds = Rounds({Cell(100, 2): samples}, {"torch": "not here"})
    found = collect(Origin.of("encoder"), forms, rounds, 64)
    judge, peer, parts, *_ = found.measurements
    assert judge.of == {"tokens": 100, "batch": 2, "what": "judge on ONNX fp32", "rounds": 3}
    assert judge.found == pytest.approx(
        {"p50 s": 1.0, "p95 s": 9.1, "tokens/s": 200, "speed": 2.0, "x roofline": 4.0}
    )
    assert (peer.found["speed"], peer.found["x roofline"]) == (1.0, None)
    assert parts.found["encode"] == pytest.approx(200)
    assert parts.found["rest"] == pytest.approx(50)
    assert found.left_out == {"torch": "not here"}


def test_the_roofline_translates_between_chips():
    of = {"model": LARGE, "form": "fp16 eager", "tokens": 4_000}
    found = one_pass(of, (0.2, 0.2), flops=98.9e12, weight_bytes=1, device="NVIDIA H200").found
    # 98.9 TFLOP take 0.1 s on an H200 at best, so 0.2 s are twice that; 0.82 s on an L4.
    assert found["x roofline"] == pytest.approx(2.0)
    assert found["L4 at best"] == pytest.approx(0.817, abs=1e-3)
    assert found["L4 s"] == pytest.approx(1.635, abs=1e-3)
    assert found["Luna x L4"] == pytest.approx(0.23 / 0.817, abs=1e-3)
    unknown = one_pass(of, (0.2, 0.2), flops=98.9e12, weight_bytes=1, device="another").found
    assert (unknown["x roofline"], unknown["L4 s"]) == (None, None)


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


@pytest.mark.slow
def test_the_encoder_bench_runs_whole(weights, bench):
    sizes = ("--tokens", 40, "--tokens", 150, "--batch", 2, "--window", POSITIONS)
    done, found = bench("encoder", "--weights", weights, *sizes, "--seconds", 1_000, "--rounds", 2)
    assert done.returncode == 0, done.stderr[-3000:]
    slow = {"torch bf16"} if half_is_slow() else set()
    names = {"judge on ONNX int8", "torch fp32", "torch bf16", "ONNX fp32", "ONNX int8"} - slow
    by_table = {}
    for each in found.measurements:
        by_table.setdefault(each.table, []).append(each)
    assert {each.of["what"] for each in by_table["Peak memory"]} == names
    assert set(found.left_out) == {"LettuceDetect 17M"} | slow
    runs = by_table["Latency and throughput"]
    assert len(runs) == 2 * len(names)
    assert all(len(each.samples) == 2 for each in runs)
    assert min(each.found["x roofline"] for each in runs) > 0
    for each in by_table["Where the judge's time goes, ms of an example"]:
        assert set(each.found) == {*PARTS, "rest"}
        assert min(each.found[part] for part in PARTS) > 0
    assert found.origin.command.startswith("python -m tests.bench.encoder --weights")
    assert done.stdout.strip() == render(found).strip()


@pytest.mark.heavy
def test_the_judges_are_measured_beside_lettucedetects_own_package(bench):
    package = Path(__file__).parents[2] / "build" / "lettucedetect"
    if not package.is_dir():
        pytest.skip("`make bench` fetches the package")
    done, found = bench("peers", "--lettucedetect", package, "--tokens", 100, "--rounds", 1)
    assert done.returncode == 0, done.stderr[-3000:]
    whats = {each.of["what"]: each.found for each in found.measurements if "rounds" in each.of}
    assert set(whats) == {"luna", "luna:mini", "LettuceDetect 17M", "LettuceDetect 149M"}
    assert whats["LettuceDetect 17M"]["speed"] == 1
    assert "forms" not in found.notes[0]


@pytest.mark.heavy
def test_weights_that_are_none_are_an_error(tmp_path, bench):
    done, _ = bench("encoder", "--weights", tmp_path)
    assert done.returncode == 2
    assert "no form of the encoder can be measured" in done.stderr


@pytest.mark.heavy
def test_the_gpu_bench_runs_dry(bench):
    done, found = bench("gpu", "--dry-run")
    assert done.returncode == 0, done.stderr[-3000:]
    assert found.left_out == {}
    forms = {(each.of["model"], each.of["form"]) for each in found.measurements}
    dtypes, hows = ("fp16", "bf16"), ("eager", "compile")
    assert forms >= {(m, f"{d} {how}") for m in (LARGE, "mini") for d in dtypes for how in hows}
    assert all(min(each.samples) > 0 and each.found["TFLOP"] > 0 for each in found.measurements)


@pytest.mark.heavy
def test_without_a_gpu_the_bench_says_so(bench):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done, found = bench("gpu")
    assert done.returncode == 2
    assert "--dry-run" in done.stderr
    assert found is None
