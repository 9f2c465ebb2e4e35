import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from moonlynx.judge.files.stored import save_record
from moonlynx.model_card.release import plan_release
from moonlynx.model_card.results import read_report
from moonlynx.recipes import lynx
from moonlynx.recipes.chat.record import RECORD_FILE, SourceRecord, read_record
from moonlynx.recipes.chat.settings import Lora, Run
from moonlynx.recipes.lynx.settings import LynxRun

BASE = "meta-llama/Meta-Llama-3-8B-Instruct"


@pytest.fixture
def weights(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "lynx-8b"
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "model.safetensors").write_bytes(b"weights")
    (folder / "model" / "config.json").write_text("{}")
    shutil.copy(Path(__file__).with_name("lynx.json"), folder / RECORD_FILE)
    (folder / "run.json").write_text(Run(base=BASE).model_dump_json(indent=2))
    return folder / "model"


@pytest.fixture
def report(report_folder, tmp_path):
    folder = tmp_path / "report"
    folder.mkdir()
    text = (report_folder / "report.json").read_text(encoding="utf-8")
    spec = "lynx:runs/lynx-8b/model@vllm"
    (folder / "report.json").write_text(text.replace('"token-similarity"', f'"{spec}"'))
    return folder


def options(weights, report, tmp_path):
    run = weights.parent / "run.json"
    return {"weights": weights, "run": run, "report": report, "output": tmp_path / "README.md"}


def read(folder):
    return re.sub(" *[|] *", " | ", (folder / "README.md").read_text(encoding="utf-8"))


def test_the_card_says_what_the_run_was_and_the_reports_scores(
    card_command, weights, report, tmp_path
):
    assert card_command(**options(weights, report, tmp_path))[0] == 0
    text = read(tmp_path)
    head = yaml.safe_load(text.split("---")[1])
    assert head["base_model"] == BASE
    assert head["license"] == "llama3"
    assert head["datasets"] == ["DROP", "covidQA"]
    assert "\n# lynx-8b\n" in text
    assert "2,310 rows, 90 left out as too long; 225 steps of 32 rows, at most 3 epochs" in text
    assert "1.900 at the first step, 0.612 at the last; on 800 validation rows" in text
    assert "0.700, 0.650, 0.640" in text
    assert " | DROP | 601 | 599 | CC BY-SA 4.0 | " in text
    assert "torch 2.13.0, trl 1.16.0" in text
    assert re.search(r" \| `model.safetensors` \| 7 \| `[0-9a-f]{64}` \|", text)
    found = read_report(report)
    own = next(each for each in found.micro.systems if each.system.startswith("lynx:"))
    (line,) = (row for row in text.splitlines() if row.startswith(f" | {found.micro.name} | 12 |"))
    assert f"{100 * own.metrics['balanced_accuracy'].value:.1f}" in line
    assert head["model-index"][0]["name"] == "lynx-8b"


def test_the_card_of_adapters_that_give_the_score_alone(card_command, weights, report, tmp_path):
    file = "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    (weights / "model.safetensors").rename(weights / "adapter_model.safetensors")
    settings = {"base_model_name_or_path": file}
    (weights / "adapter_config.json").write_text(json.dumps(settings))
    before = "runs/before/model"  # which the run went on from
    first = read_record(weights.parent)
    more = SourceRecord(source="wiki", licence="CC0-1.0", passes=3, fails=4)
    update = {"base": before, "before": first, "sources": (first.sources[1], more)}
    save_record(first.model_copy(update=update), weights.parent / RECORD_FILE)
    run = LynxRun(base=before, method="lora", lora=Lora(rank=4), reply="score")
    (weights.parent / "run.json").write_text(run.model_dump_json())
    assert card_command(**options(weights, report, tmp_path))[0] == 0
    text = read(tmp_path)
    head = yaml.safe_load(text.split("---")[1])
    assert head["base_model"] == "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF"
    assert head["license"] == "apache-2.0"
    assert f"low-rank adapters on the base, which went on from `{before}`" in text
    assert (
        "replies with JSON that holds\n`SCORE` alone, whose probability is the raw score." in text
    )
    assert '--judge "lynx:model@transformers?reply=score" --context' in text
    assert "reason" not in text.partition("## Results")[0]
    # What was read before was read too.
    assert head["datasets"] == ["DROP", "covidQA", "wiki"]
    assert " | DROP | 1,202 | 1,198 | CC BY-SA 4.0 | " in text
    assert " | wiki | 3 | 4 | CC0-1.0 | " in text
    assert (
        f"\n- **Before it:** 2,310 rows in 225 steps from `{BASE}`, 2026-11-21: 2.00 hours" in text
    )
    assert "\nRight and wrong answers. Where the licence" in text

    (weights / "adapter_model.safetensors").write_bytes(b"\x02" + bytes(7) + b"{}")
    (tmp_path / "README.md").rename(weights / "README.md")
    licences = {each.name: each.licence for each in plan_release(weights).release.licences}
    assert licences == {
        "model": "apache-2.0",
        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF": "Apache-2.0",
        # as the rows state them
        "DROP": "CC BY-SA 4.0",
        "covidQA": "Apache-2.0",
        "wiki": "CC0-1.0",
    }


def test_the_adapters_of_the_repository_can_be_released():
    folder = Path(lynx.__file__).parent / "qwen-0.5b-score" / "model"
    release = plan_release(folder).release
    assert release.kind == "adapter"
    assert all(each.licence for each in release.licences)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert release.files["adapter_model.safetensors"].sha256 in card


def test_a_base_whose_licence_is_not_known_says_so(card_command, weights, report, tmp_path):
    record = read_record(weights.parent).model_copy(update={"base": "mine"})
    save_record(record, weights.parent / RECORD_FILE)
    (weights.parent / "run.json").write_text(Run(base="mine").model_dump_json())
    assert card_command(**options(weights, report, tmp_path))[0] == 0
    text = read(tmp_path)
    assert "licence: not known here, to be looked up where the base is from" in text


def test_what_does_not_belong_together_is_refused(fault, weights, report, report_folder, tmp_path):
    given = options(weights, report, tmp_path)
    assert "none of these is lynx:" in fault(**(given | {"report": report_folder}))
    (weights.parent / "run.json").write_text(Run(base="other").model_dump_json())
    assert f"base: the record has {BASE}, the run's settings other" in fault(**given)
    (weights.parent / "run.json").write_text(Run(base=BASE).model_dump_json())
    (weights / "model.safetensors").unlink()
    assert "holds no model*.safetensors" in fault(**given)
    assert not (tmp_path / "README.md").exists()
