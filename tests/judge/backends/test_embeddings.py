import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from moonlynx.judge.backends.base import BackendError, EmbeddingError
from moonlynx.judge.backends.embeddings import SentenceEncoder, load_embeddings
from moonlynx.judge.contract.spec import SpecError

from ...cases import cases
from ...conftest import serving
from .loopback import in_turn

TEXTS = [
    "The ferry leaves at half past seven.",
    "Bicycles travel free.",
    "Wie alt ist die Brücke? 橋は古い。🎉",
    "x",
    "The quick brown fox jumps over the lazy dog, " * 5,
]


def embeddings(*vectors, indices=None):
    numbers = indices or range(len(vectors))
    data = [{"index": n, "embedding": v} for n, v in zip(numbers, vectors, strict=True)]
    return 200, {"object": "list", "data": data, "model": "m"}


def angles(body):
    values = [float(text.split()[1]) for text in body["input"]]
    return embeddings(*([3 * math.cos(v), 3 * math.sin(v)] for v in values))


def test_an_endpoint_is_asked_in_few_requests_and_gives_unit_vectors_in_order(server):
    server.answer = angles
    texts = [f"text {n / 100}" for n in range(150)]
    rows = load_embeddings("m", server.url, {}).embed(texts)
    assert rows.shape == (150, 2)
    assert rows.dtype == np.float32
    expected = [[math.cos(n / 100), math.sin(n / 100)] for n in range(150)]
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    assert {path for path, _ in server.requests} == {"/v1/embeddings"}
    assert sorted(len(body["input"]) for _, body in server.requests) == [22, 64, 64]
    assert {tuple(sorted(body)) for _, body in server.requests} == {("input", "model")}
    server.answer = in_turn(embeddings([0.0, 2.0], [5.0, 0.0], indices=[1, 0]))
    rows = load_embeddings("m", server.url, {}).embed(["a", "b"])
    np.testing.assert_array_equal(rows, [[1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize(("answer", "says"), cases(__file__, "no_vectors"))
def test_what_cannot_be_the_vectors_is_an_error(server, answer, says):
    server.answer = in_turn(answer)
    with pytest.raises(EmbeddingError, match=says) as caught:
        load_embeddings("m", server.url, {}).embed(["a", "b"])
    assert caught.value.code == ("too_long" if says == "maximum context" else "backend")


def test_names_and_options(server):
    assert load_embeddings("m", server.url, {}).version == f"m@{server.url}"
    for backend, options in [("onnx", {}), ("vllm", {}), (server.url, {"device": "cpu"})]:
        with pytest.raises(SpecError):
            load_embeddings("m", backend, options)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: folder / "absent", "there is no model at"),
        (lambda folder: folder, "not safetensors"),
        (lambda folder: (folder / "pytorch_model.bin").touch() or folder, "not safetensors"),
        (lambda folder: (folder / "model.safetensors").touch() or folder, "cannot load"),
    ],
)
def test_a_model_that_cannot_be_loaded_says_why(tmp_path, make, says):
    with pytest.raises(BackendError, match=says):
        load_embeddings(str(make(tmp_path)), None, {})


@pytest.fixture(scope="module")
def encoder(minilm):
    return load_embeddings(minilm, "torch", {"device": "cpu"})


@pytest.mark.heavy
def test_vectors_are_those_of_sentence_transformers_whatever_stands_beside_them(encoder, minilm):
    from sentence_transformers import SentenceTransformer

    rows = encoder.embed(TEXTS)
    expected = SentenceTransformer(minilm, device="cpu").encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    assert rows.dtype == np.float32
    texts = TEXTS + [f"{text} {n}" for n in range(10) for text in TEXTS]
    together, reverse = encoder.embed(texts), encoder.embed(texts[::-1])
    np.testing.assert_array_equal(reverse[::-1], together)
    states = encoder.embed_tokens(texts)
    for text, row, tokens in zip(TEXTS, together, states, strict=False):
        np.testing.assert_array_equal(encoder.embed([text])[0], row)
        np.testing.assert_array_equal(encoder.embed_tokens([text])[0], tokens)


@pytest.mark.heavy
def test_token_states_are_unit_vectors_of_the_tokens_proper(minilm):
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokens = SentenceEncoder(minilm)
    (states,) = tokens.embed_tokens([TEXTS[0]])
    tokenizer, model = AutoTokenizer.from_pretrained(minilm), AutoModel.from_pretrained(minilm)
    with torch.inference_mode():
        hidden = model(**tokenizer(TEXTS[0], return_tensors="pt")).last_hidden_state[0, 1:-1]
    expected = torch.nn.functional.normalize(hidden, dim=-1).numpy()
    np.testing.assert_allclose(states, expected, atol=1e-6)
    assert tokens.embed_tokens(["\u200b"])[0].shape == (0, 384)
    assert tokens.embed_tokens([]) == []


@pytest.mark.heavy
@pytest.mark.parametrize("text", ["The ferry leaves at seven. " * 200, "船は七時に出る。" * 100])
def test_nothing_of_a_long_text_is_cut_off(encoder, text):
    # The end lies far beyond the window of 256 tokens and counts all the same.
    whole, ended = encoder.embed([text, text + " Penguins!"])
    assert 0.9 < float(whole @ ended) < 1 - 1e-6
    assert np.linalg.norm(ended) == pytest.approx(1.0, abs=1e-6)
    without, longer, short = encoder.embed_tokens([text, text + " Penguins!", "Penguins!"])
    assert len(longer) == len(without) + len(short) > 256


@pytest.mark.heavy
def test_the_version_is_that_of_the_files_and_options_are_checked(encoder, minilm):
    hashes = [
        hashlib.sha256((Path(minilm) / name).read_bytes()).hexdigest()[:8]
        for name in ("model.safetensors", "tokenizer.json")
    ]
    assert encoder.version == "-".join(hashes)
    for backend, options in [("torch", {"device": "tpu"}), (None, {"devise": "cpu"})]:
        with pytest.raises(SpecError, match="devi"):
            load_embeddings(minilm, backend, options)


@pytest.mark.heavy
def test_a_real_server_gives_the_same_vectors(encoder, minilm, tmp_path):
    options = ["--served-model-name", "minilm"]
    with serving(minilm, tmp_path / "server.log", *options) as url:
        served = load_embeddings("minilm", url, {})
        np.testing.assert_allclose(served.embed(TEXTS), encoder.embed(TEXTS), atol=1e-5)
        with pytest.raises(EmbeddingError, match="context length") as caught:
            served.embed(["The ferry leaves at seven. " * 200])
    assert caught.value.code == "too_long"
