"""Heads beside what they are to beat, and a head that goes on with new rows, at tiny size."""

import json

import numpy as np
import pytest

from moonlynx.judge.luna2.head import HeadError, load_head_file
from moonlynx.recipes.luna2.compare import Plan, compare, write
from moonlynx.recipes.luna2.compare_report import curves
from moonlynx.recipes.luna2.data import LabelledInput, Splits
from moonlynx.recipes.luna2.floor import FLOORS
from moonlynx.recipes.luna2.retune import NoSuchSource, retune
from moonlynx.recipes.luna2.retune import Plan as RetunePlan
from moonlynx.recipes.luna2.settings import Run

from .rows import BAD, GOOD, PII, TOXICITY, row

pytestmark = pytest.mark.heavy

PLAN = Plan(most=32, fewer=(8,), seeds=(0, 1), validation=24, tested=24)


def rows(start, count):
    words = [word for pair in zip(BAD, GOOD, strict=True) for word in pair]
    made = []
    for number in range(start, start + count):
        word = words[number % len(words)]
        read = row(number, f"You {word} of house {number}.", ["true" if word in BAD else "false"])
        source = "new" if number % 4 > 1 else "old"
        made.append(LabelledInput(read.input, read.labels, read.group, source))
    return tuple(made)


SPLITS = Splits(rows(0, 64), rows(100, 64), rows(200, 64), 3)


@pytest.fixture(scope="module")
def run(tiny_llama):
    fields = {"precision": "fp32", "checkpointing": False, "device": "cpu", "batch": 8}
    fields |= {"rows_at_once": 8, "epochs": 12, "learning_rate": 5e-3, "max_length": 512}
    return Run.model_validate(fields | {"backbone": str(tiny_llama)})


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("compare")


def test_all_systems_are_measured_on_the_same_rows(run, out):
    found = compare(TOXICITY, SPLITS, run, PLAN, out / "toxicity")
    facts = found.figures
    assert list(facts["systems"]) == [
        *FLOORS,
        "prompted",
        "prompted, fitted",
        "head, 8 rows",
        "head, 32 rows",
    ]
    assert facts["tested"] == 24
    assert set(facts["seconds"]) == {
        "head, 8 rows, seed 0",
        "head, 32 rows, seed 0",
        "head, 32 rows, seed 1",
    }
    seeds = [facts["seeds"][f"head, 32 rows, seed {n}"]["auroc"][0] for n in (0, 1)]
    assert facts["systems"]["head, 32 rows"]["auroc"][0] == pytest.approx(np.mean(seeds))
    assert facts["systems"]["majority"]["auroc"][0] == 0.5
    assert facts["systems"]["head, 32 rows"]["auroc"][0] > 0.9
    assert set(curves(found)) == {*FLOORS, "prompted, fitted", "head, 32 rows, seed 0"}
    assert facts["calibration"]["after"][0] <= 1

    write({"toxicity": found}, out)
    assert json.loads((out / "results.json").read_text())["toxicity"]["removed"] == 3
    tables = (out / "tables.md").read_text()
    assert "| least and most of 2 seeds |" in tables
    points = json.loads((out / "toxicity-roc.json").read_text())["head, 32 rows, seed 0"]
    assert points[0] == [0, 0]

    # Nothing is trained again where it is there already.
    kept = out / "toxicity" / "head-8-rows-seed-0.json"
    before = kept.stat().st_mtime_ns
    again = compare(TOXICITY, SPLITS, run, PLAN, out / "toxicity")
    assert again.figures == facts
    assert kept.stat().st_mtime_ns == before


def test_a_head_goes_on_with_new_rows(run, out):
    plan = RetunePlan(rows=24, most=24, validation=24)
    found = retune(TOXICITY, SPLITS, "new", run, plan, out / "retune")
    assert found["rows"] == {"before": 24, "re-tuned": 18, "the new rows alone": 18}
    assert found["tested"] == 32
    folders = [out / "retune" / name / "head" for name in ("before", "re-tuned")]
    before, after = (load_head_file(folder) for folder in folders)
    assert before.version != after.version
    # Six validation rows are too few to fit to: what was fitted stands.
    assert (before.scaling, before.thresholds) == (after.scaling, after.thresholds)
    with pytest.raises(NoSuchSource, match="has no rows of 'nowhere'"):
        retune(TOXICITY, SPLITS, "nowhere", run, plan, out / "none")


def test_a_head_of_another_metric_is_not_gone_on_from(run, out):
    from moonlynx.recipes.luna2.train import train

    other = run.model_copy(update={"head": str(out / "retune" / "before" / "head")})
    with pytest.raises(HeadError, match="is of another metric"):
        train(other, PII, SPLITS, out / "other")
