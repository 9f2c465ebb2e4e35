"""What a run says of the run whose adapters it goes on from."""

import json
import logging
import shutil
from pathlib import Path

import pytest

from moonlynx.recipes import lynx
from moonlynx.recipes.chat.record import RECORD_FILE, read_record
from moonlynx.recipes.chat.sft import read_before
from moonlynx.recipes.hardware import RecordError
from moonlynx.recipes.lynx.settings import LynxRun

KEPT = Path(lynx.__file__).parent / "qwen-0.5b-score"


@pytest.fixture
def run(tmp_path):
    shutil.copytree(KEPT, tmp_path / "run")
    return LynxRun(base=str(tmp_path / "run" / "model"))


def test_the_record_beside_the_adapters_is_kept(run):
    assert read_before(run) == read_record(KEPT)
    assert read_before(LynxRun(base=str(KEPT))) is None  # holds no adapters itself


def test_adapters_without_a_record_are_warned_of(run, caplog):
    Path(run.base, "..", RECORD_FILE).unlink()
    with caplog.at_level(logging.WARNING):
        assert read_before(run) is None
    assert f"beside the adapters in {run.base} there is no {RECORD_FILE}" in caplog.text


def test_a_broken_record_names_the_field(run):
    path = Path(run.base).parent / RECORD_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {"steps": -1}))
    with pytest.raises(RecordError, match=r"trained\.json: steps: "):
        read_before(run)


def test_runs_and_their_sources_are_counted_together():
    first = read_record(KEPT).model_copy(update={"before": None})
    last = first.model_copy(update={"before": first.model_copy(update={"before": first})})
    assert [each.before is None for each in last.runs] == [True, False, False]
    for one, all_three in zip(first.sources, last.read_sources, strict=True):
        assert all_three.source == one.source
        assert (all_three.passes, all_three.fails) == (3 * one.passes, 3 * one.fails)
