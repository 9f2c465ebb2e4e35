"""Starting and ending a child process, whatever it does. Here it is not vLLM: `test_real.py` is."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.loading import load_metric
from moonlynx.serve.vllm import engine as module
from moonlynx.serve.vllm.checks import NotFit
from moonlynx.serve.vllm.deployment import Deployment
from moonlynx.serve.vllm.engine import Engine, WaitingMetric

from ..loopback import free_port, until
from .real import session


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "check", lambda deployment: [])

    def is_(text):
        path = tmp_path / "python"
        path.write_text(f"#!{sys.executable}\nimport sys, time\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setattr(module.sys, "executable", str(path))

    return is_


def deployment():
    return Deployment(model="m", port=free_port())


def came_up(engine):
    failed = []
    engine.bring_up(lambda: failed.append(engine.failure), lambda: False)
    until(lambda: engine.settled)
    assert engine.failure in failed
    return str(engine.failure)


def test_a_program_that_ends_is_quoted(program, capfd):
    program("print('one'); print('two', file=sys.stderr); sys.exit(3)")
    with Engine(deployment()) as engine:
        said = came_up(engine)
        assert engine.fault() == "vLLM has ended (exit code 3)"
    assert said.startswith("vLLM has ended (exit code 3); its last lines:")
    assert sorted(said.split("\n")[1:]) == ["  one", "  two"]
    assert sorted(capfd.readouterr().err.split()) == ["one", "two"], "the log is passed on"


@pytest.mark.heavy
def test_a_program_that_never_answers_is_given_up(program):
    program("print('loading', flush=True); time.sleep(60)")
    with Engine(deployment(), start_limit=0.5) as engine:
        assert engine.fault() == "vLLM is starting"
        assert came_up(engine).startswith("vLLM is not ready after 0.5 seconds")


def test_a_program_that_will_not_end_is_made_to_with_all_it_started(program, monkeypatch):
    monkeypatch.setattr(module, "GRACE", 0.3)
    program(
        "import signal, subprocess\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '60'])\nprint('deaf', flush=True)\ntime.sleep(60)"
    )
    with Engine(deployment()) as engine:
        until(lambda: "deaf" in engine._said)
        leader = engine._process.pid
        assert len(session(leader)) == 2
        began = time.monotonic()
    assert 0.3 <= time.monotonic() - began < 10
    until(lambda: session(leader) == [])


def test_what_left_the_group_and_holds_the_log_is_not_waited_for(program, monkeypatch):
    monkeypatch.setattr(module, "_DRAIN", 0.3)
    program(
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '30'], start_new_session=True)\n"
        "print('left', child.pid, flush=True)\ntime.sleep(60)"
    )
    with Engine(deployment()) as engine:
        until(lambda: engine._said)
        began = time.monotonic()
    assert time.monotonic() - began < 10
    os.kill(int(engine._said[0].split()[1]), signal.SIGKILL)


@pytest.mark.heavy
def test_a_gateway_that_is_killed_leaves_nothing_behind(tmp_path):
    """By SIGKILL, of which it learns nothing; the program and its child are deaf to SIGTERM."""
    deaf = tmp_path / "python"
    deaf.write_text(
        f"#!{sys.executable}\nimport signal, subprocess, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '60'])\nprint('deaf', flush=True)\ntime.sleep(60)\n",
        encoding="utf-8",
    )
    deaf.chmod(0o755)
    gateway = (
        "import os, sys, time\n"
        "from moonlynx.serve.vllm import engine as module\n"
        "from moonlynx.serve.vllm.deployment import Deployment\n"
        "module.check, module.GRACE = lambda deployment: [], 1\n"
        f"sys.executable = {str(deaf)!r}\n"
        "with module.Engine(Deployment(model='m')) as engine:\n"
        "    while not engine._said: time.sleep(0.01)\n"
        "    print(engine._process.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", gateway], stdout=subprocess.PIPE) as running:
        leader = int(running.stdout.readline())
        assert len(session(leader)) == 2
        running.kill()
    until(lambda: session(leader) == [])


def test_a_program_that_is_needed_no_more_is_ended_before_it_is_ready(program):
    program("print('loading', flush=True); time.sleep(60)")
    over = threading.Event()
    with Engine(deployment()) as engine:
        until(lambda: engine._said)
        engine.bring_up(lambda: pytest.fail("it did not fail"), over.is_set)
        assert not engine.settled
        over.set()
        assert engine.settled, "rows wait no longer"
        until(lambda: engine.fault() == "vLLM has ended (SIGTERM)")
    assert engine.failure is None


def test_a_machine_that_is_not_fit_starts_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotFit, match="nvidia-smi is not on the path"), Engine(deployment()):
        pytest.fail("it was entered")


@pytest.mark.heavy
def test_metrics_wait_until_the_engine_is_settled(program):
    program("time.sleep(60)")
    metric = load_metric("luna2:tone")
    inputs = [MetricInput(input="Who?", output="A fool did.")]
    found = []
    with Engine(deployment()) as engine:
        waiting = WaitingMetric(metric, engine)
        asking = threading.Thread(target=lambda: found.append(waiting(inputs)))
        asking.start()
        asking.join(0.5)
        assert found == []
        engine._settled.set()
        asking.join()
    assert found == [metric(inputs)]
    assert (waiting.info, waiting.definition) == (metric.info, metric.definition)
