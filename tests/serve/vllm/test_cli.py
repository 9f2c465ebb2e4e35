from importlib.util import find_spec

import pytest

from moonlynx.serve.vllm.checks import NotFit
from moonlynx.serve.vllm.choose import describe
from moonlynx.serve.vllm.deployment import read_deployment

from ...cases import cases
from ...command import moonlynx
from .real import write_deployment


@pytest.fixture
def no_driver(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    "options",
    [
        ("--vllm", "lynx-70b"),
        ("--judge", "lynx:PatronusAI/Llama-3-Patronus-Lynx-70B-Instruct", "--tensor-parallel", "8"),
    ],
)
def test_a_dry_run_shows_command_and_checks_and_fails_where_something_is_missing(
    no_driver, options
):
    done = moonlynx("serve", "--dry-run", *options)
    assert isinstance(done.exception, NotFit)
    assert "GPUs: 8 needed; nvidia-smi is not on the path" in str(done.exception)
    lines = done.stdout.splitlines()
    plan = describe(read_deployment("lynx-70b"))
    assert lines[: len(plan)] == plan
    assert lines[len(plan)].startswith(
        "judge: lynx:PatronusAI/Llama-3-Patronus-Lynx-70B-Instruct@http://127.0.0.1:8001/v1?"
    )
    assert any(line.startswith("MISSING GPUs: ") for line in lines)


@pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed")
def test_a_dry_run_of_what_can_run_ends_well(tmp_path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    done = moonlynx("serve", "--dry-run", "--vllm", str(write_deployment(tmp_path, tmp_path)))
    assert done.exit_code == 0, done.stdout
    assert "MISSING" not in done.stdout


@pytest.mark.parametrize(("options", "message"), cases(__file__, "odd_options"))
def test_what_goes_together_is_said(options, message):
    done = moonlynx("serve", *options)
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)
