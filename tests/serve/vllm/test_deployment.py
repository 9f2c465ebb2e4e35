import shlex
from importlib.util import find_spec

import pytest
from tests.cases import cases
from tests.command import moonlynx

from moonlynx.judge.contract.spec import SpecError, parse_spec
from moonlynx.recipes.runs import SettingsError
from moonlynx.serve.vllm import choose as choosing
from moonlynx.serve.vllm.checks import NotFit
from moonlynx.serve.vllm.choose import describe, metric_of, wrapped
from moonlynx.serve.vllm.deployment import DeploymentError, bundled, read_deployment
from moonlynx.serve.vllm.sizing import GPUS, memory_of

from .real import write_deployment

NAMES = sorted(bundled())


def choose(judge, name, gpus):
    deployment, spec = choosing.choose(parse_spec(judge) if judge else None, name, gpus)
    return deployment, str(spec)


def flag(command, name):
    return command[command.index(f"--{name}") + 1]


def written(tmp_path, text):
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_all_deployments_are_there_and_long_commands_wrapped():
    lynx = ["lynx-70b", "lynx-70b-awq", "lynx-70b-fp8", "lynx-8b", "lynx-8b-fp8"]
    assert ["luna2-a100", "luna2-l4", *lynx] == NAMES
    command = read_deployment("luna2-a100").command()
    lines = wrapped(command)
    assert len(lines) > 5
    assert max(map(len, lines)) <= 100
    assert all(line.endswith(" \\") for line in lines[:-1])
    whole = " ".join(line.removesuffix(" \\") for line in lines)
    assert tuple(shlex.split(whole)) == command


@pytest.mark.parametrize("name", NAMES)
def test_a_file_opens_with_what_it_takes(name):
    """Memory, throughput and command in the comments are those that the functions give."""
    head = bundled()[name].read_text(encoding="utf-8").split("\n")
    said = [line.removeprefix("#   ") for line in head if line.startswith("#   ")]
    assert said == describe(read_deployment(name))
    assert head[1].startswith(f"# moonlynx serve --vllm {name}")


@pytest.mark.parametrize("name", NAMES)
def test_a_deployment_fits_its_gpus_and_its_command_is_for_this_machine_alone(name):
    deployment = read_deployment(name)
    memory = memory_of(deployment.serving(GPUS[deployment.gpu].memory))
    assert memory.tokens >= deployment.max_model_len
    assert memory.weights + memory.workspace < deployment.memory_share * 80
    command = deployment.command()
    assert command[:3] == ("python", "-m", "vllm.entrypoints.openai.api_server")
    assert flag(command, "load-format") == "safetensors"
    assert flag(command, "host") == "127.0.0.1"
    assert not any("trust" in word for word in command)


def test_the_command_names_adapters_and_other_flags_as_they_are(tmp_path):
    command = read_deployment("luna2-l4").command()
    assert flag(command, "max-loras") == "9"
    assert flag(command, "lora-modules") == "context_adherence=./adapters/context_adherence"
    assert sum(word.endswith(word.split("=")[0]) for word in command if "=./" in word) == 9
    flags = "{seed: 7, async-scheduling: false, cudagraph-capture-sizes: [1, 2]}"
    path = written(tmp_path, f"model: m\nengine: {flags}")
    assert read_deployment(path).command()[-6:] == (
        *("--seed", "7", "--no-async-scheduling"),
        *("--cudagraph-capture-sizes", "1", "2"),
    )


@pytest.mark.parametrize(("text", "message"), cases(__file__, "bad_files"))
def test_what_a_file_may_not_say_is_named(tmp_path, text, message):
    with pytest.raises(SettingsError, match=message):
        read_deployment(written(tmp_path, text))


URL = "@http://127.0.0.1:8001/v1"


@pytest.mark.parametrize(("judge", "name", "gpus", "asking", "deployed"), cases(__file__, "asked"))
def test_a_deployment_is_chosen_and_asked_by_its_judge(judge, name, gpus, asking, deployed):
    assert choose(judge, name, gpus) == (read_deployment(deployed), asking)


def test_the_judges_model_takes_the_place_of_the_deployments_known_or_not():
    deployment, judge = choose("lynx:org/mine?retries=0", "lynx-70b-awq", None)
    assert deployment.model == deployment.name == "org/mine"
    assert deployment.precision == "awq"
    assert judge == f"lynx:org/mine{URL}?concurrency=64&retries=0"
    deployment, _ = choose("lynx:org/other", None, 4)
    assert (deployment.model, deployment.gpus, deployment.shape) == ("org/other", 4, None)


def test_heads_are_named_by_adapters_or_folders_and_asked_for_later():
    deployment, judge = choose("luna2:context_adherence?threshold=0.5", "luna2-l4", None)
    assert deployment == read_deployment("luna2-l4")
    asked = "@http://127.0.0.1:8001/v1?check=later&concurrency=64&retries=2"
    assert judge == f"luna2:./adapters/context_adherence{asked}&threshold=0.5"
    assert choose("luna2:./mine", "luna2-l4", None)[1] == f"luna2:./mine{asked}"
    assert metric_of(deployment, "luna2:pii") == f"luna2:./adapters/pii{asked}"
    for name in ("luna2:mine", "luna2:pii@http://far:1/v1", "chainpoll:toxicity@http://far:1/v1"):
        assert metric_of(deployment, name) == name


def test_an_adapter_of_the_deployment_judges_by_its_name():
    deployment, judge = choose("lynx:tone?reply=score", "luna2-l4", None)
    assert deployment == read_deployment("luna2-l4")
    assert judge == f"lynx:tone{URL}?concurrency=64&retries=2&reply=score"


@pytest.mark.parametrize(
    ("judge", "name", "gpus", "kind", "message"),
    [
        ("lynx:m@http://far:1/v1", None, 8, DeploymentError, "as in --judge lynx:MODEL"),
        (None, "lynx-9b", None, DeploymentError, "'lynx-9b', and no file; known: luna2-a100, "),
        ("lynx", "lynx-8b", 5, DeploymentError, "5 cannot share 32 heads"),
        ("Lynx!", "lynx-8b", None, SpecError, "lower-case"),
    ],
)
def test_what_cannot_be_served_is_a_message(judge, name, gpus, kind, message):
    with pytest.raises(kind, match=message):
        choose(judge, name, gpus)


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
