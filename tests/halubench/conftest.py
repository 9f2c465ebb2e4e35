import shutil

import pytest

from moonlynx.halubench.records import read_rows

from .made_data import build_set, expect_these_files, write_data


@pytest.fixture(scope="session")
def made_data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


@pytest.fixture
def data(made_data, monkeypatch):
    expect_these_files(made_data, monkeypatch.setattr)
    return made_data


@pytest.fixture(scope="session")
def built_once(made_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("builds") / "built"
    with pytest.MonkeyPatch.context() as patch:
        expect_these_files(made_data, patch.setattr)
        build_set(made_data, folder)
    return folder


@pytest.fixture
def built(built_once, tmp_path):
    """Return the folder of a hundredth of the benchmark, built of the made-up data."""
    return shutil.copytree(built_once, tmp_path / "built")


@pytest.fixture
def rows(built):
    return read_rows(built / "test.jsonl")
