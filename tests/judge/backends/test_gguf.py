"""Where a GGUF file is, and what its header says, on files of a few bytes."""

import struct

import pytest
from huggingface_hub import constants

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.backends.gguf import bos_token, find_gguf, read_header, special_tokens


def string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def array(kind, items):
    return struct.pack("<IIQ", 9, kind, len(items)) + b"".join(items)


FIELDS = {
    "general.architecture": struct.pack("<I", 8) + string("llama"),
    "llama.context_length": struct.pack("<II", 4, 2048),
    "tokenizer.ggml.add_bos_token": struct.pack("<I?", 7, True),
    "tokenizer.ggml.tokens": array(
        8, [string(text) for text in ("a", "<unk>", "<é>", "<x>", "<|im_end|>")]
    ),
    "tokenizer.ggml.token_type": array(5, [struct.pack("<i", kind) for kind in (1, 2, 3, 4, 4)]),
    "tokenizer.ggml.bos_token_id": struct.pack("<II", 4, 2),
}
HEADER = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(FIELDS)) + b"".join(
    string(name) + value for name, value in FIELDS.items()
)


@pytest.fixture
def write(tmp_path):
    def put(content):
        (tmp_path / "m.gguf").write_bytes(content)
        return tmp_path / "m.gguf"

    return put


def test_a_header_is_read(write):
    header = read_header(write(HEADER + b"weights"))
    assert list(header) == list(FIELDS)
    assert header["general.architecture"] == "llama"
    assert header["llama.context_length"] == 2048
    assert header["tokenizer.ggml.add_bos_token"] is True
    assert special_tokens(header) == ["<unk>", "<é>", "<|im_end|>"]
    assert bos_token(header) == "<é>"
    assert (special_tokens({}), bos_token({})) == ([], "")


def test_a_header_that_ends_anywhere_is_refused(write):
    for end in range(len(HEADER)):
        with pytest.raises(BackendError, match="not a GGUF file" if end < 4 else "is broken"):
            read_header(write(HEADER[:end]))


@pytest.mark.parametrize(
    "field",
    [
        struct.pack("<I", 99),
        struct.pack("<IQ", 8, 1 << 63),
        struct.pack("<IIQ", 9, 4, 1 << 62),
        struct.pack("<II", 9, 9) * 5000,
        struct.pack("<IQ", 8, 1) + b"\xff",
    ],
    ids=["kind", "string", "array", "nested", "utf-8"],
)
def test_a_field_that_cannot_be_is_refused(write, field):
    start = struct.pack("<4sIQQ", b"GGUF", 3, 0, 1)
    with pytest.raises(BackendError, match="header is broken"):
        read_header(write(start + string("name") + field))


def test_a_file_of_the_hub_is_found_in_its_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    repo, commit = tmp_path / "models--org--repo", "0" * 40
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text(commit)
    (repo / "snapshots" / commit / "q4").mkdir(parents=True)
    file = repo / "snapshots" / commit / "q4" / "m-00001-of-00002.gguf"
    file.write_bytes(HEADER)
    assert find_gguf("llamacpp", "org/repo/q4/m-00001-of-00002.gguf") == file
    with pytest.raises(BackendError, match=r"org/repo has no file q8/m.gguf"):
        find_gguf("llamacpp", "org/repo/q8/m.gguf")
    with pytest.raises(BackendError, match="cannot be downloaded from the Hub"):
        find_gguf("llamacpp", "org/other/m.gguf")


def test_what_names_no_file_is_refused(tmp_path):
    with pytest.raises(BackendError, match=r"is a folder; name the .gguf file in it"):
        find_gguf("llamacpp", str(tmp_path))
    with pytest.raises(BackendError, match="there is no model at"):
        find_gguf("llamacpp", f"{tmp_path}/none.gguf")
    with pytest.raises(BackendError, match=r"no file none\.gguf; .* is ORG/REPO/FILE\.gguf"):
        find_gguf("llamacpp", "none.gguf")
