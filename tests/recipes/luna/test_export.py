import hashlib
import json
import zlib

import numpy as np
import pytest

from moonlynx.judge.backends.onnx_encoder import MODEL, OnnxEncoder
from moonlynx.judge.backends.torch_encoder import TorchEncoder
from moonlynx.judge.files.stored import MANIFEST
from moonlynx.recipes.luna.export import app, export, quantise_columns, quantise_rows
from moonlynx.recipes.luna.settings import Scheme

from ...bench.forms_apart import compare
from ...command import succeed
from ...tiny_encoder import build_tiny_encoder, random_inputs

INPUTS = random_inputs(40)
COPIED = ("calibration.json", "luna.json", "tokenizer.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = build_tiny_encoder(tmp_path_factory.mktemp("torch"))
    for name in COPIED:
        (folder / name).write_text(f'{{"file": "{name}"}}')
    return folder


@pytest.fixture(scope="module")
def exported(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("onnx") / "made"
    export(folder, out)
    return out


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # of DeBERTa's module
@pytest.mark.parametrize("kind", ["bert", "modernbert", "deberta-v2", "mpnet"])
def test_any_trunk_reads_in_onnx_what_it_reads_in_torch(tmp_path, kind):
    folder = build_tiny_encoder(tmp_path / "torch", kind)
    export(folder, tmp_path / "onnx", Scheme.FP32)
    comparison = compare(folder, tmp_path / "onnx", INPUTS)
    assert comparison.inputs == len(INPUTS)
    assert comparison.claim_max < 1e-4
    assert comparison.token_max < 1e-4
    backends = TorchEncoder(folder, device="cpu"), OnnxEncoder(tmp_path / "onnx")
    conflicts = [[output.conflict for output in each.encode(INPUTS)] for each in backends]
    np.testing.assert_allclose(*conflicts, atol=1e-3)
    assert np.std(conflicts[0]) > 0.01


@pytest.mark.heavy
def test_the_compact_form_packs_better_and_reads_nearly_the_same(folder, exported, tmp_path):
    export(folder, tmp_path, Scheme.COMPACT)
    compact, int8 = ((path / MODEL).read_bytes() for path in (tmp_path, exported))
    assert len(zlib.compress(compact)) < 0.9 * len(zlib.compress(int8))
    assert 0 < compare(folder, tmp_path, INPUTS).claim_mean < 0.1


@pytest.mark.heavy
def test_int8_is_near_the_torch_form_and_less_than_half_its_size(folder, exported):
    comparison = compare(folder, exported, INPUTS)
    assert 0 < comparison.claim_mean < 0.05
    assert 0 < comparison.token_mean < 0.05
    assert comparison.claim_mean <= comparison.claim_max
    assert comparison.token_mean <= comparison.token_max
    assert comparison.agreement >= 0.9
    weights = (folder / "model.safetensors").stat().st_size
    assert (exported / MODEL).stat().st_size < weights / 2


@pytest.mark.heavy
def test_int8_rows_of_a_batch_are_as_exact_as_alone(exported):
    session = OnnxEncoder(exported)._session
    rows = np.random.default_rng(1).integers(1, 2_000, (5, 32))

    def run(ids):
        feed = {"input_ids": ids, "attention_mask": ids**0, "token_type_ids": ids * 0}
        return session.run(["token_logits", "claim_logit"], feed)

    tokens, claim = run(rows)
    for index, row in enumerate(rows):
        own_tokens, own_claim = run(row[None])
        np.testing.assert_allclose(own_tokens[0], tokens[index], atol=1e-5)
        np.testing.assert_allclose(own_claim[0], claim[index], atol=1e-5)


@pytest.mark.heavy
def test_an_export_is_the_same_each_time_and_listed_in_its_manifest(folder, exported, tmp_path):
    assert "MB" in succeed(folder, tmp_path / "again", app=app)
    assert b"site-packages" not in (exported / MODEL).read_bytes()
    assert b".py" not in (exported / MODEL).read_bytes()
    names = sorted([*COPIED, MODEL])
    assert sorted(path.name for path in exported.iterdir()) == sorted([*names, MANIFEST])
    files = json.loads((exported / MANIFEST).read_text())["files"]
    assert sorted(files) == names
    for name in (*names, MANIFEST):
        content = (exported / name).read_bytes()
        assert (tmp_path / "again" / name).read_bytes() == content
        assert name == MANIFEST or files[name] == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("rows", [64, 33])
def test_columns_are_quantised_so_that_no_pair_of_products_overflows(rows):
    matrix = np.random.default_rng(0).standard_t(3, (rows, 50)).astype(np.float32)
    matrix[:, 0] = 0
    matrix[:2, 1] = matrix[:, 1].max() * 2  # the largest values are neighbours
    quantised, scales = quantise_columns(matrix)
    assert quantised.shape == matrix.shape
    np.testing.assert_allclose(quantised * scales, matrix, atol=float(scales.max()) * 0.51)
    assert np.all(np.abs(quantised * scales - matrix) <= scales * 0.51)
    pairs = np.pad(quantised.astype(int), ((0, rows % 2), (0, 0))).reshape(-1, 2, 50)
    for sign in (1, -1):
        sums = np.maximum(sign * pairs, 0).sum(axis=1)
        assert 100 < sums.max() <= 128
        assert 255 * sums.max() <= np.iinfo(np.int16).max


def test_no_scale_is_below_the_least():
    matrix = np.array([[1.0, 100.0], [0.2, -50.0]], dtype=np.float32)
    for quantise in (quantise_columns, quantise_rows):
        quantised, scales = quantise(matrix, 0.5)
        assert scales.min() == 0.5
        np.testing.assert_allclose(quantised * scales, matrix, atol=float(scales.max()) / 2)


def test_rows_are_quantised_each_by_its_own_scale():
    matrix = np.array([[1e-3, -2e-3], [50.0, 100.0], [0.0, 0.0]], dtype=np.float32)
    quantised, scales = quantise_rows(matrix)
    assert quantised.tolist() == [[64, -127], [64, 127], [0, 0]]
    assert scales.shape == (3, 1)
    np.testing.assert_allclose(quantised * scales, matrix, rtol=0.02)
