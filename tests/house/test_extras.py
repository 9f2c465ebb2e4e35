import sys
from importlib import reload
from pathlib import Path

import pytest

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.eval.benchmarks.halubench import _sheet
from moonlynx.eval.explain.batch import Judged
from moonlynx.eval.explain.faults import find_faults
from moonlynx.eval.explain.pages import render
from moonlynx.eval.leaderboard.page import render_html
from moonlynx.eval.slices import scipy_stats
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.chat import load_chat_backend
from moonlynx.judge.contract.base import unscored
from moonlynx.judge.contract.types import JudgeInfo
from moonlynx.judge.judges.prompted.nli_model import NliModel
from moonlynx.recipes.data.rag_qa import load_rag_qa
from moonlynx.serve import http
from moonlynx.serve.integrations.mcp import make_server
from moonlynx.serve.ray.graph import build

UNSCORED = unscored(JudgeInfo(name="j", version="1"), None, "bad_input", "answer: is missing")
HERE = str(Path(__file__).parent)


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("datasets", "data", lambda: load_benchmark("PatronusAI/HaluBench")),
        ("datasets", "data", lambda: load_rag_qa("cuad", "test")),
        ("openpyxl", "data", lambda: list(_sheet(Path("sample.xlsx")))),
        ("scipy", "eval", scipy_stats),
        ("jinja2", "eval", lambda: render_html([])),
        ("jinja2", "eval", lambda: render(find_faults([Judged(1, UNSCORED)]), "html", "v")),
        ("torch", "transformers", lambda: load_chat_backend("transformers", HERE, {})),
        ("xllamacpp", "llamacpp", lambda: load_chat_backend("llamacpp", HERE, {})),
        ("jsonschema", "llamacpp", lambda: load_chat_backend("llamacpp", HERE, {})),
        pytest.param(
            *("gguf", "transformers", lambda: load_chat_backend("transformers", "m.gguf", {})),
            marks=pytest.mark.heavy,  # it imports transformers first
        ),
        ("vllm", "vllm", lambda: load_chat_backend("vllm", HERE, {})),
        ("torch", "transformers", lambda: NliModel("org/model")),
        ("fastapi", "serve", lambda: reload(http)),
        ("mcp.server", "mcp", lambda: make_server("token-similarity")),
        ("ray", "ray", lambda: build({})),
    ],
)
def test_a_missing_package_names_its_extra(package, extra, call, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'moonlynx\[{extra}\]'"):
        call()
