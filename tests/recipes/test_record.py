import datetime
import json

import pytest

from moonlynx.judge.files.stored import save_record
from moonlynx.recipes import hardware as module
from moonlynx.recipes.hardware import Energy, Hardware, RecordError, estimate_energy, find_hardware
from moonlynx.recipes.luna.record import (
    RECORD_FILE,
    Aggregation,
    StageRecord,
    TrainingRecord,
    read_record,
)

from ..cases import cases

CPU = Hardware(name="A processor", unit="core", count=2, watts=12.0, watts_from="a table")
GPU = Hardware(name="A board", unit="GPU", count=1, watts=700.0, watts_from="its limit")
RECORD = TrainingRecord(
    recipe="mini",
    mix="shipped",
    base="org/trunk",
    base_sha256="b" * 64,
    stages=(StageRecord(name="pairs", items=9, tokens=99, seconds=9.5, held_back=0, auroc=None),),
    hardware=CPU,
    energy=Energy(kwh=0.1, how="guessed"),
    aggregations=(Aggregation(aggregation="min", answer="max", auroc={"frank": 0.7}, mean=0.7),),
    date=datetime.date(2026, 11, 21),
    command="python -m moonlynx.recipes.luna mini.yaml",
    commit=None,
    versions={"torch": "2"},
)


@pytest.mark.parametrize(("change", "field"), cases(__file__, "wrong_records"))
def test_a_wrong_record_names_the_field(tmp_path, change, field):
    content = json.loads(RECORD.model_dump_json()) | change
    (tmp_path / "training.json").write_text(json.dumps(content))
    with pytest.raises(RecordError, match=rf"training\.json: {field}"):
        read_record(tmp_path)


def test_what_is_written_is_read_and_what_is_broken_named(tmp_path):
    (tmp_path / "training.json").write_text("{")
    with pytest.raises(RecordError, match=r"training\.json: file: Invalid JSON"):
        read_record(tmp_path)
    save_record(RECORD, tmp_path / RECORD_FILE)
    assert read_record(tmp_path) == RECORD
    assert (tmp_path / "training.json").read_bytes().endswith(b"}\n")


def test_energy_is_power_times_time():
    energy = estimate_energy(CPU, 7200)
    assert energy.kwh == 0.048  # 2 x 12 W x 2 h
    assert energy.how.startswith("2 cores at 12 W (a table) for 2.00 hours; an estimate")
    energy = estimate_energy(GPU, 1800)
    assert energy.kwh == 0.35
    assert energy.how.startswith("1 GPU at 700 W (its limit) for 0.50 hours")


@pytest.mark.parametrize(
    ("printed", "watts"), [("700.00\n700.00", 700.0), ("[N/A]", 400.0), ("", 400.0)]
)
def test_the_boards_power_limit_is_asked_for(tmp_path, monkeypatch, printed, watts):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\necho '{printed}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert module._gpu_watts()[0] == watts
    tool.unlink()
    assert module._gpu_watts() == (400.0, "assumed, for the driver names no power limit")


@pytest.mark.heavy
def test_this_machine_is_described():
    import torch

    found = find_hardware()
    assert found.name
    assert found.unit == ("GPU" if torch.cuda.is_available() else "core")
    assert found.watts > 0
    if found.unit == "core":
        assert found.count == torch.get_num_threads()
