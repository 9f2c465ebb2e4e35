import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.eval.run import Settings, run_evaluation
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.judges.luna.weights import write_manifest
from moonlynx.judge.registry import load_judge
from moonlynx.recipes.luna.record import TrainingRecord
from moonlynx.recipes.luna.settings import Run
from moonlynx.recipes.runs import read_run

from ..fitting import fit
from ..judge.judges.luna.tiny import build_tiny_luna

ROWS = Path(__file__).parents[1] / "eval" / "fixtures" / "benchmark.jsonl"


def evaluate(benchmark, specs, output):
    return run_evaluation(
        benchmark,
        specs,
        output,
        Settings(
            command=f"moonlynx eval --benchmark {benchmark.about.name}",
            progress=lambda total: nullcontext(lambda tally: None),
            batch_size=32,
            resamples=200,
            seed=0,
        ),
    )


@pytest.fixture(scope="session")
def calibrated(tmp_path_factory):
    folder = build_tiny_luna(tmp_path_factory.mktemp("card") / "tiny")
    calibration = fit(
        load_judge(f"luna:{folder}").info, [0.2, 0.9] * 20, ["PASS", "FAIL"] * 20, "temperature"
    )
    save_record(calibration, folder / "calibration.json")
    write_manifest(folder)
    return folder


@pytest.fixture
def weights(calibrated, tmp_path):
    return shutil.copytree(calibrated, tmp_path / "tiny")


@pytest.fixture(scope="session")
def report_folder(calibrated, tmp_path_factory):
    """Return the folder of a real evaluation: twelve rows in three parts."""
    folder = tmp_path_factory.mktemp("report")
    specs = ["token-similarity", f"luna:{calibrated}"]
    evaluate(load_benchmark(str(ROWS)), specs, folder)
    return folder


@pytest.fixture
def run_file():
    return Path(__file__).with_name("run.yaml")


@pytest.fixture
def run(run_file):
    return read_run(run_file, Run)


@pytest.fixture
def record():
    text = Path(__file__).with_name("luna.json").read_text(encoding="utf-8")
    return TrainingRecord.model_validate_json(text)


@pytest.fixture
def card_command(command_line):

    def call(**options):
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        return command_line("card", *words)

    return call


@pytest.fixture
def fault(card_command):
    """Run the command, which must end with wrong usage; return what it says."""

    def call(**options):
        code, _, error = card_command(**options)
        assert code == 2
        return error

    return call
