import datetime
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.eval.run import Settings, run_evaluation
from moonlynx.judge.decision.calibration import fit_calibration
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.judges.luna.weights import write_manifest
from moonlynx.judge.registry import load_judge
from moonlynx.recipes.hardware import Hardware, estimate_energy
from moonlynx.recipes.luna.record import Aggregation, StageRecord, TrainingRecord
from moonlynx.recipes.luna.settings import Run
from moonlynx.recipes.runs import read_run

from ..judge.judges.luna.tiny import CONFIG, build_tiny_luna

RUN = """
mix: shipped
base: sentence-transformers/all-MiniLM-L6-v2
window: 64
lead: 12
claim: 20
stages:
  pairs:
    pairs: {snli: 5000, monotonicity: 4000}
    budget_tokens: 1000000
  answers:
    pairs: {snli: 1500}
    answers: {ragtruth_train_part: 0, frank: 2600}
    right: [tatqa, pubmedqa]
    right_claims: 2200
    changed: {perturbed: 4000, removed: 0}
    made: 700
    epochs: 2
"""
ROWS = Path(__file__).parents[1] / "eval" / "fixtures" / "benchmark.jsonl"


def evaluate(benchmark, specs, output):
    """Judge a benchmark for a report, as `moonlynx eval` does."""
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
    """Return a weights folder with a calibration, to read only."""
    folder = build_tiny_luna(tmp_path_factory.mktemp("card") / "tiny")
    calibration = fit_calibration(
        load_judge(f"luna:{folder}").info,
        [0.2, 0.9] * 20,
        ["PASS", "FAIL"] * 20,
        method="temperature",
        objective="balanced-accuracy",
        data_sha256="d" * 64,
    )
    save_record(calibration, folder / "calibration.json")
    write_manifest(folder)
    return folder


@pytest.fixture
def weights(calibrated, tmp_path):
    """Return a copy of the weights folder, to change."""
    return shutil.copytree(calibrated, tmp_path / "tiny")


@pytest.fixture(scope="session")
def report_folder(calibrated, tmp_path_factory):
    """Return the folder of a real evaluation: twelve rows in three parts."""
    folder = tmp_path_factory.mktemp("report")
    specs = ["token-similarity", f"luna:{calibrated}"]
    evaluate(load_benchmark(str(ROWS)), specs, folder)
    return folder


@pytest.fixture
def run_file(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(RUN)
    return path


@pytest.fixture
def run(run_file):
    return read_run(run_file, Run)


@pytest.fixture
def record():
    hardware = Hardware(name="A processor", unit="core", count=2, watts=12.0, watts_from="a table")
    stages = (("pairs", 51_234, 3_300_123, 0.9012), ("answers", 20_777, 4_200_456, None))
    return TrainingRecord(
        recipe="small",
        mix="shipped",
        base="sentence-transformers/all-MiniLM-L6-v2",
        base_sha256="b" * 64,
        stages=tuple(
            StageRecord(
                name=name, items=items, tokens=tokens, seconds=5400.0, held_back=500, auroc=auroc
            )
            for name, items, tokens, auroc in stages
        ),
        hardware=hardware,
        energy=estimate_energy(hardware, 10_800.0),
        aggregations=(
            Aggregation(
                aggregation=CONFIG.aggregation,
                answer=CONFIG.answer,
                auroc={"frank": 0.7123, "summedits": 0.6001},
                mean=0.6562,
            ),
            Aggregation(aggregation="min", answer="max", auroc={"frank": 0.55}, mean=0.55),
        ),
        date=datetime.date(2026, 11, 21),
        command="python -m moonlynx.recipes.luna run.yaml",
        commit="c" * 40,
        versions={"python": "3.11.9", "torch": "2.11.0"},
    )


@pytest.fixture
def card_command(command_line):
    """Run `moonlynx card` with options."""

    def call(**options):
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        return command_line("card", *words)

    return call
