import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.backends.encoder import EncoderBackend, load_encoder
from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.backends.torch_encoder import HEADS, TRUNK

from ...tiny_encoder import build_tiny_encoder, random_inputs

INPUTS = random_inputs(12)
BACKENDS = ("onnx", "torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from moonlynx.recipes.luna.export import export

    folder = build_tiny_encoder(tmp_path_factory.mktemp("encoder"))
    export(folder, folder)
    return folder


@pytest.fixture(scope="module", params=BACKENDS)
def encoder(folder, request):
    return load_encoder(folder, request.param)


@pytest.mark.heavy
def test_there_is_a_logit_for_each_token_and_one_for_the_claim(encoder):
    assert isinstance(encoder, EncoderBackend)
    outputs = encoder.encode(INPUTS)
    assert [output.tokens.shape for output in outputs] == [ids.shape for ids, _ in INPUTS]
    assert {output.tokens.dtype for output in outputs} == {np.dtype(np.float32)}
    assert all(isinstance(output.claim, float) for output in outputs)
    assert len({output.claim for output in outputs}) == len(INPUTS)
    assert encoder.encode([]) == []
    ids, types = INPUTS[0]
    outputs = encoder.encode([(ids, types), (ids, 1 - types)])
    assert outputs[0].claim != outputs[1].claim


@pytest.mark.heavy
def test_an_input_gets_the_same_bits_whatever_is_read_beside_it(encoder):
    together = encoder.encode(INPUTS)
    backwards = encoder.encode(INPUTS[::-1])[::-1]
    alone = [encoder.encode([each])[0] for each in INPUTS]
    for first, *others in zip(together, backwards, alone, strict=True):
        for other in others:
            assert other.claim == first.claim
            np.testing.assert_array_equal(other.tokens, first.tokens)


@pytest.mark.heavy
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_is_near_the_full_one(folder, precision):
    from moonlynx.judge.backends.torch_encoder import TorchEncoder

    full = TorchEncoder(folder, device="cpu").encode(INPUTS)
    half = TorchEncoder(folder, device="cpu", precision=precision).encode(INPUTS)
    claims = np.array([[output.claim for output in outputs] for outputs in (full, half)])
    assert 0 < np.abs(claims[0] - claims[1]).max() < 0.1 * claims[0].std()


@pytest.mark.heavy
def test_the_version_is_the_hash_of_the_weights(folder):
    hashes = [
        hashlib.sha256(b"".join((folder / name).read_bytes() for name in names)).hexdigest()[:12]
        for names in ((MODEL,), (TRUNK, HEADS))
    ]
    assert [load_encoder(folder, backend).version for backend in BACKENDS] == hashes
    assert load_encoder(folder, None).name == "onnx"


@pytest.mark.heavy
def test_onnx_needs_no_torch(folder):
    program = (
        "import json, sys, numpy, pathlib\n"
        "from moonlynx.judge.backends.encoder import load_encoder\n"
        "ids = numpy.arange(5, 9)\n"
        "load_encoder(pathlib.Path(sys.argv[1]), 'onnx').encode([(ids, ids * 0)])\n"
        "print(json.dumps(sorted({'torch', 'transformers', 'onnx'} & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


def test_onnx_weights_that_are_missing_or_broken_are_named(tmp_path):
    with pytest.raises(BackendError, match=r"no model\.onnx in .*export"):
        load_encoder(tmp_path, "onnx")
    (tmp_path / MODEL).write_bytes(b"these are no weights")
    with pytest.raises(BackendError, match=r"cannot load .*model\.onnx"):
        load_encoder(tmp_path, "onnx")


@pytest.mark.heavy
@pytest.mark.parametrize("name", [TRUNK, HEADS, "config.json"])
def test_torch_weights_that_are_missing_or_broken_are_refused(tmp_path, name):
    build_tiny_encoder(tmp_path)
    (tmp_path / name).write_bytes(b"these are no weights")
    with pytest.raises(BackendError, match="cannot load the encoder in"):
        load_encoder(tmp_path, "torch")
    (tmp_path / name).unlink()
    with pytest.raises(BackendError, match="cannot load the encoder in"):
        load_encoder(tmp_path, "torch")


@pytest.mark.heavy
def test_heads_of_another_width_are_refused(tmp_path):
    import torch
    from safetensors.torch import load_file, save_file

    build_tiny_encoder(tmp_path)
    heads = load_file(tmp_path / HEADS) | {"claim.weight": torch.zeros(1, 48)}
    save_file(heads, tmp_path / HEADS)
    with pytest.raises(BackendError, match="size mismatch"):
        load_encoder(tmp_path, "torch")
