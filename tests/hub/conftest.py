import shutil
import time
from pathlib import Path

import pytest
from huggingface_hub import close_session, constants

from ..halubench.conftest import built, built_once, made_data  # noqa: F401 (fixtures)
from ..hub_server import TOKEN, Hub
from ..judge.judges.luna.tiny import build_tiny_luna

CARD = """---
license: apache-2.0
base_model: sentence-transformers/all-MiniLM-L6-v2
datasets: [mnli, of-my-own]
model-index:
- name: tiny
  results:
  - task: {type: text-classification}
    dataset: {name: rows, type: rows}
    metrics: [{type: f1, value: 0.5}]
---

# tiny
"""


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Serve a Hub on the loopback, and lead the Hub's client to it: with a token, without Xet."""
    with Hub() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        files = f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", files)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setattr(time, "sleep", lambda seconds: None)  # the client's, between its tries
        yield server


@pytest.fixture(scope="session", autouse=True)
def one_client():
    """Keep the client's sessions: to make one takes longer than a test."""
    yield
    close_session()


@pytest.fixture(scope="session")
def tiny_weights(tmp_path_factory):
    return build_tiny_luna(tmp_path_factory.mktemp("tiny") / "tiny")


@pytest.fixture
def folder(tiny_weights, tmp_path):
    copy = Path(shutil.copytree(tiny_weights, tmp_path / "tiny"))
    (copy / "README.md").write_text(CARD)
    return copy
