import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from ... import running

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "examples").iterdir())
PYTHON = [path for path in EXAMPLES if path.suffix == ".py"]
NEEDS = {
    "asgi_guard": "fastapi",
    "deepeval_metric": "deepeval",
    "haystack_pipeline": "haystack",
    "langchain_evaluator": "langchain_core",
    "langchain_guard": "langchain_core",
    "langfuse_evaluator": "langfuse",
    "langgraph_guard": "langgraph",
    "litellm_guardrail": "litellm",
    "llama_index_evaluator": "llama_index.core",
    "mcp_client": "mcp",
    "mlflow_scorer": "mlflow",
    "openai_agents_guardrail": "agents",
    "phoenix_evaluator": "phoenix",
    "ragas_metric": "ragas",
}


def run(*command, folder, **environment):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    quiet = {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "HAYSTACK_TELEMETRY_ENABLED": "False"}
    quiet |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    environment = {**os.environ, **quiet, "PATH": path, **environment}
    return running.run(*command, cwd=folder, env=environment)


@pytest.mark.heavy
@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(path, tmp_path):
    if package := NEEDS.get(path.stem):
        pytest.importorskip(package, reason=f"needs the package {package}")
    text = path.read_text(encoding="utf-8")
    expected = re.search(r"(?:^# .*\n)+\Z", text, flags=re.MULTILINE)[0]
    expected = [line.removeprefix("# ") for line in expected.splitlines()]
    if path.stem == "pytest_suite":
        plugin = "moonlynx.serve.integrations.pytest_plugin"
        command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, str(path)]
        command += ["-c", os.devnull, "-p", "no:cacheprovider"]
        done = run(*command, folder=tmp_path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        assert expected[0] in done.stdout, done.stdout + done.stderr
        assert "It serves breakfast." in done.stdout
    else:
        done = run(sys.executable, str(path), folder=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.splitlines() == expected


def action():
    return yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def test_the_actions_example_fits_the_action():
    text = (ROOT / "examples" / "github_action.yml").read_text(encoding="utf-8")
    (job,) = yaml.safe_load(text)["jobs"].values()
    (step,) = [step for step in job["steps"] if "/moonlynx@" in step.get("uses", "")]
    inputs = action()["inputs"]
    assert step["with"].keys() <= inputs.keys()
    assert {name for name, one in inputs.items() if one.get("required")} <= step["with"].keys()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("schema", "file"), [("actions", "action.yml"), ("workflows", "examples/github_action.yml")]
)
def test_github_takes_the_file(schema, file, tool):
    check = tool("check-jsonschema", "pip install check-jsonschema")
    done = run(check, "--builtin-schema", f"vendor.github-{schema}", str(ROOT / file), folder=ROOT)
    assert done.returncode == 0, done.stdout


ROW = '{"context": "It opened in 1932.", "answer": "It opened in %s."}\n'
BROKEN = '{"answer": "It opened in 1932."}\n'


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rows", "code", "hallucinated"),
    [
        (ROW % 1932, 0, "0"),
        (ROW % 1932 + ROW % 1950, 4, "1"),
        (ROW % 1950 + BROKEN, 3, "1"),
    ],
)
def test_the_action_judges(rows, code, hallucinated, tmp_path):
    (tmp_path / "$(rows).jsonl").write_text(rows)  # a name that a shell would trip over
    (step,) = [step for step in action()["runs"]["steps"] if step.get("id") == "judge"]
    given = {"input": "$(rows).jsonl", "judge": "token-similarity", "output": "out.jsonl"}
    environment = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: given[match[1]], value)
        for name, value in step["env"].items()
    }
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = run(*shell, folder=tmp_path, **environment, **files)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"hallucinated={hallucinated}\n"
    assert "answers are not supported" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
