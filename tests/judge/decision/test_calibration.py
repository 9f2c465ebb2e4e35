import json
import math
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.types import Example, JudgeInfo, MoonlynxError
from moonlynx.judge.decision.calibration import Calibrated, load_calibration
from moonlynx.judge.decision.curves import CalibrationError, Isotonic, Temperature
from moonlynx.judge.files.stored import save_record

from ... import fitting
from ...cases import cases
from ...fitting import Scoring

INFO = JudgeInfo(name="lynx:m", version="lynx-v1")
METHODS = ["temperature", "isotonic"]


def rows(count=400, seed=0):
    """Raw scores of which the true P(FAIL) is sigmoid(1.5 * (score - 2))."""
    source = random.Random(seed)
    scores = [round(source.gauss(2.0, 2.0), 4) for _ in range(count)]
    chances = [1 / (1 + math.exp(-1.5 * (score - 2.0))) for score in scores]
    return scores, ["FAIL" if source.random() < chance else "PASS" for chance in chances]


def fit(scores, labels, method="temperature", **options):
    return fitting.fit(INFO, scores, labels, method, **options)


def rates(scores, labels, threshold):
    raised = [label for score, label in zip(scores, labels, strict=True) if score >= threshold]
    caught, alarms = raised.count("FAIL"), raised.count("PASS")
    recall = caught / list(labels).count("FAIL")
    specificity = 1 - alarms / list(labels).count("PASS")
    return caught / max(len(raised), 1), recall, (recall + specificity) / 2


def at_every_threshold(scores, labels):
    """Return the rates at each threshold that halves between -3 and 3 can be told apart by."""
    return [rates(scores, labels, step / 4) for step in range(-13, 15)]


def test_temperature_maximises_platts_likelihood():
    scores, labels = rows()
    fails = labels.count("FAIL")
    targets = [
        (fails + 1) / (fails + 2) if label == "FAIL" else 1 / (len(labels) - fails + 2)
        for label in labels
    ]

    def likelihood(bias, temperature):
        curve = Temperature(bias=bias, temperature=temperature)
        chances = [curve.probability(score) for score in scores]
        return sum(
            target * math.log(p) + (1 - target) * math.log(1 - p)
            for target, p in zip(targets, chances, strict=True)
        )

    found = fit(scores, labels).parameters
    best = likelihood(found.bias, found.temperature)
    for step in (0.99, 1.01):
        assert likelihood(found.bias * step, found.temperature) < best
        assert likelihood(found.bias, found.temperature * step) < best


def test_isotonic_is_scikit_learns_and_level_with_one_knot():
    from sklearn.isotonic import IsotonicRegression

    scores, labels = rows()
    reference = IsotonicRegression(out_of_bounds="clip")
    reference.fit(scores, [label == "FAIL" for label in labels])
    calibration = fit(scores, labels, "isotonic")
    points = np.linspace(min(scores) - 3, max(scores) + 3, 500)
    found = [calibration.probability(float(point)) for point in points]
    assert found == pytest.approx(reference.predict(points), abs=1e-4)
    level = Isotonic(raw_scores=(1.0,), probabilities=(0.3,))
    assert [level.probability(score) for score in (-5.0, 1.0, 5.0)] == [0.3, 0.3, 0.3]


@pytest.mark.parametrize("method", METHODS)
def test_probabilities_are_calibrated_on_fresh_rows_and_rise_with_the_score(method):
    calibration = fit(*rows(4_000), method)
    scores, labels = rows(20_000, seed=1)
    by_bin = {}
    for score, label in zip(scores, labels, strict=True):
        p = calibration.probability(score)
        by_bin.setdefault(min(int(p * 10), 9), []).append((p, label == "FAIL"))
    assert len(by_bin) == 10
    error = sum(abs(sum(p - failed for p, failed in rows)) for rows in by_bin.values())
    assert error / len(scores) < 0.02
    calibration = fit(*rows(), method)
    scores = [-1e308, -745.0, *(score / 10 for score in range(-100, 140)), 745.0, 1e308]
    found = [calibration.probability(score) for score in scores]
    assert found == sorted(found)
    assert 0.0 <= found[0] <= found[-1] <= 1.0
    assert found[0] < found[-1]


LABELLED = st.lists(
    st.tuples(st.integers(-6, 6).map(lambda step: step / 2), st.sampled_from(["PASS", "FAIL"])),
    min_size=20,
    max_size=60,
)


@given(LABELLED)
def test_no_threshold_has_better_balanced_accuracy(pairs):
    scores, labels = zip(*pairs, strict=True)
    try:
        calibration = fit(scores, labels, "isotonic")
    except CalibrationError:
        return
    *_, found = rates(scores, labels, calibration.threshold)
    assert found == pytest.approx(max(best for *_, best in at_every_threshold(scores, labels)))


@given(LABELLED, st.sampled_from([0.5, 0.75, 0.9, 1.0]))
def test_no_threshold_of_that_precision_has_more_recall(pairs, wanted):
    scores, labels = zip(*pairs, strict=True)
    try:
        calibration = fit(scores, labels, "isotonic", objective=f"precision>={wanted}")
    except CalibrationError as error:
        if "no threshold has" in str(error):
            assert all(precision < wanted for precision, *_ in at_every_threshold(scores, labels))
        return
    every = at_every_threshold(scores, labels)
    precision, recall, _ = rates(scores, labels, calibration.threshold)
    assert precision >= wanted
    assert recall == max(recall for precision, recall, _ in every if precision >= wanted)


def test_the_threshold_stands_midway_and_highest_among_equals_or_says_what_can():
    scores = [0.0] * 10 + [1.0] * 5 + [2.0] * 5 + [3.0] * 10
    labels = ["PASS"] * 10 + ["FAIL", "PASS"] * 5 + ["FAIL"] * 10
    assert fit(scores, labels).threshold == 2.5
    assert fit(scores, labels, objective="precision>=0.7").threshold == 0.5
    assert fit(scores, labels, objective="precision>=.1").threshold == 0.5, "of equals, the highest"
    scores = [float(score) for score in range(40)]
    labels = ["PASS", "FAIL"] * 18 + ["PASS", "FAIL", "FAIL", "PASS"]
    with pytest.raises(CalibrationError, match=r"best precision on these rows is 0\.\d{4}"):
        fit(scores, labels, objective="precision>=0.99")


def test_what_is_recorded_whatever_the_order_of_the_rows():
    scores, labels = rows()
    options = {"objective": "precision>=0.9", "data_sha256": "1" * 64}
    calibration = fit([None, *scores, None], ["FAIL", *labels, "PASS"], **options)
    assert calibration.judge == INFO
    assert calibration.rows == 400
    assert calibration.fails == labels.count("FAIL")
    assert calibration.rows_without_score == 2
    assert calibration.objective == "precision>=0.9"
    assert calibration.data_sha256 == "1" * 64
    assert calibration.parameters == fit(scores, labels).parameters
    scores, labels = rows()
    shuffled = [scores[::-1], labels[::-1]]
    for method in METHODS:
        one, other = fit(scores, labels, method), fit(*shuffled, method)
        assert one.model_copy(update={"curve": other.curve}) == other


SCORES, LABELS = rows(60)
UNFIT = {
    "wrong way round": ([-score for score in SCORES], LABELS, r"AUROC 0\.[01]"),
    "all the same": ([1.0] * 60, LABELS, r"AUROC 0\.500"),
    "one class": (SCORES, ["PASS"] * 60, "all rows are labelled PASS"),
    "few": (SCORES[:19], LABELS[:19], "19 labelled rows .* at least 20"),
    "few with a score": ([*SCORES[:19], None], LABELS[:20], "19 labelled rows"),
    "none": ([], [], "0 labelled rows"),
    "all null": ([None] * 60, LABELS, "no row has a raw score"),
    "infinite": ([*SCORES[1:], math.inf], LABELS, "not a finite number"),
    "nan": ([*SCORES[1:], math.nan], LABELS, "not a finite number"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("scores", "labels", "message"), UNFIT.values(), ids=UNFIT)
def test_rows_that_allow_no_fit(scores, labels, message, method):
    with pytest.raises(CalibrationError, match=message):
        fit(scores, labels, method)


@pytest.mark.parametrize(
    "objective", ["accuracy", "precision", "precision>=", "precision>=2", "precision>=1.5", ""]
)
def test_an_unknown_objective(objective):
    with pytest.raises(CalibrationError, match=r"as in precision>=0\.9"):
        fit(SCORES, LABELS, objective=objective)


def test_a_sigmoid_that_falls_is_refused():
    """One far outlier turns the slope, though most FAIL rows rank above most PASS rows."""
    scores = [*(float(score) for score in range(30)), 1e6]
    labels = ["PASS"] * 15 + ["FAIL"] * 15 + ["PASS"]
    with pytest.raises(CalibrationError, match="use the method isotonic"):
        fit(scores, labels)
    assert fit(scores, labels, "isotonic").threshold == 14.5


@pytest.mark.parametrize("method", METHODS)
def test_the_file_is_the_same_bytes_and_reads_back(tmp_path, method):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    save_record(fit(*rows(), method), first)
    save_record(fit(*rows(), method), second)
    assert first.read_bytes() == second.read_bytes()
    assert load_calibration(first) == fit(*rows(), method)
    content = json.loads(first.read_text())
    assert content["schema_version"] == "1.3"
    assert content["parameters"]["method"] == method


def test_a_file_of_the_version_before_is_still_read(tmp_path):
    content = fit(*rows()).model_dump(mode="json", exclude={"curve", "presets"}) | {
        "schema_version": "1.0"
    }
    path = tmp_path / "older.json"
    path.write_text(json.dumps(content))
    older = load_calibration(path)
    assert older.curve is None
    assert older.probability(2.0) == fit(*rows()).probability(2.0)
    save_record(older, path)
    assert load_calibration(path) == older
    with pytest.raises(CalibrationError, match=r"cannot read .*none.json: No such file"):
        load_calibration(tmp_path / "none.json")


@pytest.mark.parametrize("case", cases(__file__, "damaged"), ids=lambda case: case["name"])
def test_a_damaged_file_says_what_is_wrong(tmp_path, case):
    path = tmp_path / "calibration.json"
    whole = fit(*rows(60)).model_dump(mode="json") | case.get("changes", {})
    path.write_text(case.get("text", json.dumps(whole)), encoding="latin-1")
    with pytest.raises(CalibrationError, match=case["says"]) as raised:
        load_calibration(path)
    assert str(path) in str(raised.value)
    assert isinstance(raised.value, MoonlynxError)


EXAMPLE = Example(context="The bridge opened in 1932.", answer="It opened in 1950.")
CURVE = fit(*rows())


def test_verdicts_gain_a_probability_and_nothing_else():
    inner = Scoring(INFO, [-1.0, 2.0, None])
    calibrated = Calibrated(inner, CURVE)
    assert isinstance(calibrated, Judge)
    assert calibrated.info == INFO
    plain, found = inner([EXAMPLE] * 3), calibrated([EXAMPLE] * 3)
    assert [verdict.probability for verdict in found] == [
        CURVE.probability(-1.0),
        CURVE.probability(2.0),
        None,
    ]
    assert [v.model_copy(update={"probability": None}) for v in found] == plain
    assert found[1].probability == round(found[1].probability, 4)


@pytest.mark.parametrize("change", [{"name": "lynx:other"}, {"version": "lynx-v2"}])
def test_a_calibration_serves_no_other_judge(change):
    other = INFO.model_copy(update=change)
    calibration = CURVE.model_copy(update={"judge": other})
    with pytest.raises(CalibrationError) as raised:
        Calibrated(Scoring(INFO, []), calibration)
    for judge in (INFO, other):
        assert f"{judge.name} version {judge.version}" in str(raised.value)


def test_applying_needs_no_scikit_learn(tmp_path):
    for method in METHODS:
        save_record(fit(*rows(), method), tmp_path / f"{method}.json")
    code = f"""
import sys
from pathlib import Path
sys.modules["sklearn"] = None
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.decision.calibration import *
for method in {METHODS}:
    path = Path({str(tmp_path)!r}) / (method + ".json")
    print(load_calibration(path).probability(2.0))
try:
    fit_calibration(
        JudgeInfo(name="m", version="1"), [0.0, 1.0] * 10, ["PASS", "FAIL"] * 10,
        method="isotonic", objective="balanced-accuracy", data_sha256="0" * 64,
    )
except MissingExtra as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *probabilities, message = done.stdout.splitlines()
    assert probabilities == [str(fit(*rows(), method).probability(2.0)) for method in METHODS]
    assert "moonlynx[eval]" in message
