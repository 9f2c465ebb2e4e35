import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.eval.intervals import Value
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.decision.calibration import load_calibration
from moonlynx.judge.decision.lengths import ByLength
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.judges.luna.config import LunaError
from moonlynx.judge.judges.luna.weights import write_manifest
from moonlynx.model_card import training
from moonlynx.model_card.card import render_card
from moonlynx.model_card.results import CardError, at_chance, eval_results, find_system, read_report
from moonlynx.recipes.data.mixes import SOURCES
from moonlynx.recipes.luna import settings
from moonlynx.recipes.luna.settings import Run
from moonlynx.recipes.runs import read_run

from ..cases import cases
from ..labelled_data import reads_all_data
from .conftest import evaluate

RECIPES = Path(settings.__file__).parent


@pytest.fixture
def report(report_folder):
    return read_report(report_folder)


@pytest.fixture
def card(calibrated, record, run, report):
    return render_card(calibrated, record, run, [report])


def section(card, title):
    level = len(title.partition(" ")[0])
    after = card.text.split(f"\n{title}\n")[1]
    return re.split(rf"^#{{1,{level}}} ", after, flags=re.MULTILINE)[0]


def cells(text):
    rows = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def with_auroc(report, system, part, value):

    def change(group):
        if group.name != part:
            return group
        systems = tuple(
            each.model_copy(update={"metrics": each.metrics | {"auroc": value}})
            if each.system == system
            else each
            for each in group.systems
        )
        return group.model_copy(update={"systems": systems})

    return report.model_copy(update={"subsets": tuple(map(change, report.subsets))})


def test_the_front_matter_reads_back_to_the_same_results(card, report):
    own = find_system(report, report.judges[1].judge)
    data = ModelCard(str(card)).data
    assert data.eval_results == eval_results([own])
    assert data.model_name == "luna-small"
    assert data.base_model == "sentence-transformers/all-MiniLM-L6-v2"
    assert (data.license, data.language) == ("apache-2.0", "en")
    assert data.pipeline_tag == "text-classification"
    sets = ["snli", "monotonicity", "ragtruth_train_part", "frank", "tatqa", "pubmedqa"]
    assert data.datasets == sets
    values = {
        (each.dataset_config, each.metric_type): each.metric_value for each in data.eval_results
    }
    assert len(values) == 3 * 3, "the part without a FAIL row defines none"
    for group in (report.micro, *report.subsets[:2]):
        metrics = next(each for each in group.systems if each.system == own.system).metrics
        assert values[group.name, "roc_auc"] == round(metrics["auroc"].value, 4)
        assert values[group.name, "f1"] == round(metrics["f1"].value, 4)


def test_every_number_of_the_results_is_the_reports(card, report):
    systems = {
        "**these weights**": report.judges[1].spec,
        "majority class (PASS)": "majority class",
        "majority class (of each part)": "majority class",
        "always FAIL": "always FAIL",
    }
    header, *rows = cells(section(card, "### benchmark (all)"))
    assert header == ["part", "rows", "FAIL", "", "balanced accuracy", "F1", "AUROC", "span F1"]
    groups = [(g.systems, f"{g.rows}", f"{g.fail_rows}") for g in (report.micro, *report.subsets)]
    groups.append((report.macro, "", ""))
    assert len(rows) == 3 * len(groups)
    for place, (part, count, fails, label, *written) in enumerate(rows):
        scores, *counts = groups[place // 3]
        if place % 3 == 0:
            assert part, "each part begins with the weights"
            assert label == "**these weights**"
            assert [count, fails] == counts
        metrics = next(each for each in scores if each.system == systems[label]).metrics
        for name, cell in zip(
            ("balanced_accuracy", "f1", "auroc", "span_f1"), written, strict=True
        ):
            value = metrics[name]
            numbers = [float(number) for number in re.findall(r"[\d.]+", cell)]
            expected = [x for x in (value.value, value.low, value.high) if x is not None]
            assert numbers == pytest.approx([100 * x for x in expected], abs=0.051)


def test_parts_at_chance_are_named_and_no_others(calibrated, record, run, report):
    own = report.judges[1].spec
    worse = with_auroc(report, own, "mill", Value(value=0.61, low=0.5, high=0.7))
    text = section(render_card(calibrated, record, run, [worse]), "## What it does badly")
    ranked, _, decided = text.partition("At its threshold")
    assert "- benchmark (all), mill (AUROC 61.0 [50.0, 70.0], 4 rows)\n" in ranked
    assert "harbour" not in ranked
    # The tiny encoder says PASS to all of these rows.
    assert "- benchmark (all), harbour (balanced accuracy 50.0 [50.0, 50.0], 6 rows)\n" in decided
    measured = find_system(report, report.judges[1].judge)
    assert not any("mill" in part for part in at_chance([measured], "auroc"))
    # Without an interval nothing was shown; of what is undefined nothing can be said.
    unsure = with_auroc(report, own, "mill", Value(value=0.9, low=None, high=None))
    named = at_chance([measured._replace(report=unsure)], "auroc")
    assert "benchmark (all), mill (AUROC 90.0, 4 rows)" in named
    assert not any("weather" in part for part in named)


def test_the_python_example_prints_what_the_card_says(
    card, calibrated, monkeypatch, capsys, record, run, report
):
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", section(card, "## Use"), flags=re.DOTALL))
    monkeypatch.chdir(calibrated.parent)
    exec(blocks["python"], {})
    assert capsys.readouterr().out == blocks["text"]
    assert "moonlynx judge --judge luna:./tiny " in blocks["bash"]
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r"pip install 'moonlynx\[card\]'"):
        render_card(calibrated, record, run, [report])


def test_training_data_stands_with_licences_and_rows(card):
    text = section(card, "### Data")
    rows = {row[0]: row[1:] for row in cells(text)}
    assert rows.pop("set")[:3] == ["has", "stage `pairs`", "stage `answers`"]
    assert rows.keys() == set(card.data.datasets)
    for name, (has, *_, licence, why) in rows.items():
        assert (has, licence, why) == (SOURCES[name].use, SOURCES[name].licence, SOURCES[name].why)
    assert rows["snli"][1:3] == ["at most 5,000 pairs", "at most 1,500 pairs"]
    assert rows["ragtruth_train_part"][1:3] == ["–", "all claims"]
    assert rows["tatqa"][1:3] == ["–", "right answers"]
    assert "at most 4,000 wrong claims made of right ones (perturbed)" in text
    assert "(removed)" not in text
    (named,) = re.findall(r"\*\*Attribution:\*\* .* be named: (.*)\.\n", text)
    assert named == (
        "snli (the set's own terms: CC BY-SA 4.0); monotonicity (CC BY-SA 4.0); tatqa (CC BY 4.0)"
    )


def test_training_files_and_calibration_are_told(card, record, calibrated):
    text = section(card, "## Training")
    assert ["pairs", "51,234", "3,300,123", "1.50", "500", "90.1"] in cells(text)
    assert "3.00 hours on 2 cores of A processor" in text
    assert f"about 0.072 kWh: {record.energy.how}" in text
    assert f"    {record.command}\n" in text
    assert f"Commit {record.commit}, python 3.11.9, torch 2.11.0:" in text
    manifest = json.loads((calibrated / "manifest.json").read_text())["files"]
    _, *files = cells(section(card, "## Files"))
    assert {name.strip("`"): sha.strip("`") for name, _, sha in files} == manifest
    text = section(card, "## Threshold and calibration")
    assert (
        "raw score reaches 0.55, chosen for balanced-accuracy on 40 labelled rows (20 FAIL)" in text
    )
    assert "method temperature" in text
    assert "**claim, max**" in text
    assert any(row[:2] == ["benchmark (all)", "12"] for row in cells(text))


def test_presets_by_length_say_what_they_cost(weights, record, run, report):
    calibration = load_calibration(weights / "calibration.json")
    band = {"guard": 0.9, "balanced": 0.6, "audit": 0.2}
    cost = {"passes": 50, "fails": 20, "stopped": dict.fromkeys(band, 5)}
    by_length = {
        "bands": [{"claims": claims} | band for claims in (1, 2, 4)],
        "costs": [{"claims": n, "found": dict.fromkeys(band, 15)} | cost for n in (1, 2, 4)],
    }
    fitted = calibration.model_copy(update={"by_length": ByLength.model_validate(by_length)})
    save_record(fitted, weights / "calibration.json")
    write_manifest(weights)
    text = section(render_card(weights, record, run, [report]), "## Threshold and calibration")
    assert "reaches the threshold of its number of claims, chosen for" in text
    costs = ["0.90, 75.0, 10.0", "0.60, 75.0, 10.0", "0.20, 75.0, 10.0"]
    for claims in ("1", "2–3", "4 or more"):
        assert [claims, "50", "20", *costs] in cells(text)


def test_weights_without_calibration_or_for_research_only_say_so(
    weights, record, run, calibrated, report
):
    (weights / "calibration.json").unlink()
    write_manifest(weights)
    text = section(render_card(weights, record, run, [report]), "## Threshold and calibration")
    assert "they give no probability, and the threshold of 0.5 was fitted to no rows" in text
    stage = run.stages["pairs"].model_copy(update={"pairs": {"sick": 100}})
    research = run.model_copy(update={"mix": "research", "stages": run.stages | {"pairs": stage}})
    card = render_card(
        calibrated, record.model_copy(update={"mix": "research"}), research, [report]
    )
    assert (card.data.license, card.data.license_name) == ("other", "research-only")
    assert "**Licence:** for research only" in card.text


@reads_all_data
def test_a_benchmark_with_missing_rows_and_known_sources(calibrated, record, run, tmp_path):
    whole = load_benchmark("ragtruth")
    part = replace(whole, rows=whole.rows[::60], sampled_from=len(whole.rows))
    evaluate(part, [f"luna:{calibrated}"], tmp_path / "ragtruth")
    card = render_card(calibrated, record, run, [read_report(tmp_path / "ragtruth")])
    text = section(card, "### ragtruth (test)")
    assert "- The files hold 2,529 of the 2,700 published rows" in text
    assert "- A random sample of the split's 2,529 rows." in text
    assert re.search(r"- F1 over all rows is [\d.]+ if the 165 missing PASS rows were all", text)
    assert "trained on (ragtruth_train_part): these are no unseen sources" in text


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_recipe_has_known_licences(path):
    run = read_run(path, Run)
    assert run.base in training.BASES
    assert len(cells(training.data_table(run))) == 1 + len(training.used_sets(run))
    assert training.may_ship(run) or run.mix == "research"


def refused(weights, record, run, reports, match):
    with pytest.raises(CardError, match=match):
        render_card(weights, record, run, reports)


def test_what_does_not_belong_together_is_refused(calibrated, record, run, report, tmp_path):
    def changed(**fields):
        return record.model_copy(update=fields)

    refused(calibrated, changed(mix="research"), run, [report], "^mix: the record has research")
    refused(calibrated, changed(base="other"), run, [report], "^base: the record has other")
    refused(calibrated, changed(stages=record.stages[:1]), run, [report], r"^stages: .*\['pairs'\]")
    refused(calibrated, changed(aggregations=()), run, [report], "^aggregations: ")
    hashed = run.model_copy(update={"base_sha256": "a" * 64})
    refused(calibrated, record, hashed, [report], "^base_sha256: ")
    wider = run.model_copy(update={"window": 128})
    refused(calibrated, record, wider, [report], r"the weights have \(64, 12, 20\)")
    unknown = run.model_copy(update={"base": "somebody/trunk"})
    refused(
        calibrated, changed(base="somebody/trunk"), unknown, [report], "the licence of somebody"
    )
    stage = run.stages["pairs"].model_copy(update={"pairs": {"no-such-set": 1}})
    odd = run.model_copy(update={"stages": run.stages | {"pairs": stage}})
    refused(calibrated, record, odd, [report], "^no-such-set is not in the table of licences")
    refused(calibrated, record, run, [], "needs at least one report")
    refused(calibrated, record, run, [report, report], "on the same rows: benchmark")
    refused(tmp_path / "none", record, run, [report], "there is no weights folder at ")


def test_a_report_on_other_weights_is_refused(weights, record, run, report, calibrated):
    others = report.model_copy(update={"judges": report.judges[:1]})
    match = r"is of token-similarity \(token-similarity 1-overlap\); none of these is luna tiny-w1-"
    refused(calibrated, record, run, [others], match)
    tuned = report.judges[1].model_copy(update={"spec": f"luna:{calibrated}?threshold=0.1"})
    refused(
        *(calibrated, record, run),
        [report.model_copy(update={"judges": (tuned,)})],
        "without options",
    )
    content = json.loads((weights / "luna.json").read_text()) | {"version": "next"}
    (weights / "luna.json").write_text(json.dumps(content))
    write_manifest(weights)
    refused(weights, record, run, [report], "calibration was fitted for tiny-w1-.* calibrate them")


def test_weights_that_are_not_their_manifest_are_refused(weights, record, run, report):
    with (weights / "model.onnx").open("ab") as file:
        file.write(b" ")
    with pytest.raises(LunaError, match=r"model\.onnx has the SHA-256"):
        render_card(weights, record, run, [report])
    (weights / "manifest.json").unlink()
    with pytest.raises(LunaError, match=r"has no manifest\.json"):
        render_card(weights, record, run, [report])


@pytest.mark.parametrize(("content", "message"), cases(__file__, "broken_reports"))
def test_a_missing_or_broken_report_is_named(tmp_path, content, message):
    if content is not None:
        (tmp_path / "report.json").write_text(content)
    with pytest.raises(CardError, match=message):
        read_report(tmp_path)
