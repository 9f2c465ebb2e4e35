from importlib.resources import files

import pytest

from moonlynx.judge.judges.luna.config import LunaConfig

from ...command import moonlynx
from ...judge.judges.luna.tiny import build_tiny_luna

ROWS = [
    line
    for line in (files("moonlynx.judge.examples") / "answers.jsonl").read_text("utf-8").splitlines()
    if line.strip()
]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Return a weights folder in fp32 whose documents take several windows, to read only."""
    config = LunaConfig(version="tiny", window=64, lead=12, claim=20, windows=0)
    return build_tiny_luna(tmp_path_factory.mktemp("weights") / "luna", config)


@pytest.fixture
def export(tmp_path):

    def run(*options):
        folder = tmp_path / "out"
        return folder, moonlynx("export", "triton", folder, *options)

    return run


@pytest.fixture(scope="session")
def rows():
    return ROWS
