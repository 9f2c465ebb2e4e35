import pytest

from moonlynx.serve.vllm.deployment import read_deployment
from moonlynx.serve.vllm.sizing import (
    GPUS,
    Load,
    Serving,
    Shape,
    cache_bytes,
    memory_of,
    throughput_of,
    weight_bytes,
)

from ...cases import cases

LLAMA_8B = read_deployment("lynx-8b").shape
LLAMA_70B = read_deployment("lynx-70b").shape
LLAMA_3B = read_deployment("luna2-l4").shape


@pytest.mark.parametrize(
    ("shape", "parameters"),
    [(LLAMA_8B, 8_030_261_248), (LLAMA_70B, 70_553_706_496), (LLAMA_3B, 3_212_749_824)],
    ids=["8b", "70b", "3b"],
)
def test_parameters_are_those_of_the_published_models(shape, parameters):
    assert shape.parameters == parameters


@pytest.mark.parametrize(("precision", "gigabytes"), cases(__file__, "precisions"))
def test_weights_take_what_their_precision_says(precision, gigabytes):
    assert weight_bytes(LLAMA_8B, precision) / 1e9 == pytest.approx(gigabytes)


def test_the_cache_takes_what_the_rest_leaves_by_whole_heads():
    assert cache_bytes(LLAMA_8B, "bf16") == 131_072  # 2 tensors, 32 layers, 8 heads of 128, 2 bytes
    assert cache_bytes(LLAMA_70B, "bf16", 8) == 327_680 / 8
    assert cache_bytes(LLAMA_70B, "bf16", 16) == cache_bytes(LLAMA_70B, "bf16", 8)
    serving = Serving(LLAMA_8B, "bf16", 1, 72.0, 256, 8192)
    memory = memory_of(serving)
    assert memory.weights + memory.workspace + memory.cache == pytest.approx(72.0)
    assert memory.tokens == int(memory.cache * 1e9 / 131_072)
    none = memory_of(serving._replace(memory=10.0))
    assert none.cache < 0
    assert none.tokens == 0


def test_adapters_are_counted_at_their_rank():
    shape = Shape(
        layers=1, hidden=8, intermediate=16, heads=2, kv_heads=1, head_size=4, vocabulary=9
    )
    # q, k, v, o, gate, up, down: the sums of their sides.
    sides = (8 + 8) + (8 + 4) + (8 + 4) + (8 + 8) + 3 * (8 + 16)
    assert shape.adapter(4) == 4 * sides
    memory = memory_of(Serving(shape, "bf16", 1, 72.0, 1, 1, adapters=3, rank=4))
    assert memory.adapters == pytest.approx(3 * 4 * sides * 2 / 1e9)


def test_throughput_is_the_rooflines_and_grows_until_the_cache_is_full():
    serving = Serving(LLAMA_8B, "bf16", 1, 72.0, 1, 8192)
    found = throughput_of(serving, GPUS["h100"], Load(prompt=2000, reply=101))
    reading = 2000 * (2 * 6_979_321_856 + 2 * 32 * 4096 * 2000) / (989e12 * 0.4)
    step = (16_060_522_496 + 2050.5 * 131_072) / (3350e9 * 0.6)
    assert found.together == 1
    assert found.alone == pytest.approx(reading + 100 * step)
    assert found.answers == pytest.approx(1 / found.alone)

    def answers(requests):
        serving = Serving(LLAMA_8B, "bf16", 1, 72.0, requests, 8192)
        return throughput_of(serving, GPUS["h100"], Load())

    assert answers(1).answers < answers(16).answers < answers(128).answers
    assert answers(100_000).together < 200


@pytest.mark.heavy
def test_weights_are_those_of_a_real_checkpoint(tiny_llama):
    from safetensors import safe_open

    from moonlynx.serve.vllm.deployment import Deployment, with_shape

    shape = with_shape(Deployment(model=str(tiny_llama), precision="fp32", gpus=0)).shape
    with safe_open(tiny_llama / "model.safetensors", "pt") as file:
        held = sum(file.get_tensor(name).nbytes for name in file.keys())  # noqa: SIM118
    assert weight_bytes(shape, "fp32") == held
