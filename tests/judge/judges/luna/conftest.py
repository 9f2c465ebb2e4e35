import pytest

from .tiny import build_tiny_luna, tiny_tokenizer


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory):
    return tiny_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return build_tiny_luna(tmp_path_factory.mktemp("weights") / "luna")
