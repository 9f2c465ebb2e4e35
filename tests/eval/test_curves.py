import xml.etree.ElementTree as ET

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from moonlynx.eval.curves import RISKS, draw_curves
from moonlynx.eval.figures import COVERAGE_RISK, RELIABILITY, figures
from moonlynx.eval.metrics import ECE_BINS
from moonlynx.eval.outcomes import Gold
from moonlynx.eval.report_pages import render
from moonlynx.judge.contract.types import JudgeInfo

from ..fitting import fit

SVG = "{http://www.w3.org/2000/svg}"


def calibration_of(scores, labels):
    return fit(JudgeInfo(name="scripted", version="1"), scores, labels)


@pytest.fixture
def drawn(make_rows, make_verdict):
    """1,000 scored rows, two without a score and two without a probability, with a calibration."""
    source = np.random.default_rng(0)
    scores = source.random(1_000).round(3).tolist()
    labels = np.where(source.random(1_000) < np.square(scores), "FAIL", "PASS").tolist()
    calibration = calibration_of(scores, labels)
    rows = make_rows([*labels, "PASS", "FAIL", "PASS", "FAIL"])
    verdicts = [
        make_verdict(
            number,
            "FAIL" if score >= calibration.threshold else "PASS",
            raw_score=score,
            probability=calibration.probability(score),
        )
        for number, score in enumerate(scores)
    ]
    verdicts += [make_verdict(1_000 + number, None) for number in range(2)]
    verdicts += [make_verdict(1_002 + number, "PASS") for number in range(2)]
    return Gold(rows).outcomes(verdicts), calibration


def test_the_reliability_diagram_is_scikit_learns(drawn):
    outcomes, calibration = drawn
    known = ~np.isnan(outcomes.probability)
    shares, means = calibration_curve(
        outcomes.fail[known], outcomes.probability[known], n_bins=ECE_BINS
    )
    bins = draw_curves("s", outcomes, calibration).reliability
    # Where a probability lies on the edge of two bins, it goes to the other one there.
    assert [each.fail_share for each in bins] == pytest.approx(shares.tolist(), abs=2e-3)
    assert [each.probability for each in bins] == pytest.approx(means.tolist(), abs=2e-3)
    assert sum(each.rows for each in bins) == 1_000


def test_coverage_and_risk_are_over_all_rows_and_what_is_certified_lies_on_them(drawn):
    outcomes, calibration = drawn
    curves = draw_curves("s", outcomes, calibration)
    whole = curves.coverage_risk[-1]
    assert whole.coverage == pytest.approx(1_000 / 1_004), "what has no raw score is never passed"
    assert whole.risk == pytest.approx(outcomes.fail[:1_000].mean())
    coverages = [each.coverage for each in curves.coverage_risk]
    assert coverages == sorted(set(coverages))
    assert len(coverages) == 100
    own = outcomes.said == 0
    assert curves.decided.coverage == pytest.approx(own.mean())
    assert curves.decided.risk == pytest.approx(outcomes.fail[own].mean())
    assert [point.asked for point in curves.certified] == list(RISKS)
    none, *_, most = curves.certified
    assert (none.passed_up_to, none.found) == (None, None)
    passed = outcomes.raw_score <= most.passed_up_to
    assert most.passed_up_to < calibration.threshold
    assert most.found.coverage == pytest.approx(passed.mean())
    assert most.found.risk == pytest.approx(outcomes.fail[passed].mean())
    assert most.found.risk < most.asked


def test_probabilities_alone_make_a_diagram(make_rows, make_verdict):
    rows = make_rows(["PASS", "FAIL"])
    judged = Gold(rows).outcomes([make_verdict(n, "FAIL", probability=0.9) for n in range(2)])
    curves = draw_curves("s", judged, None)
    assert curves.reliability[0].fail_share == 0.5
    assert (curves.coverage_risk, curves.decided, curves.certified) == ((), None, ())


@pytest.fixture
def report(benchmark, judged, report_of):
    scores = np.linspace(0, 1, 200).tolist()
    calibration = calibration_of(scores, ["FAIL" if score > 0.8 else "PASS" for score in scores])
    one = judged("scripted", "scripted")._replace(calibration=calibration)
    plain = judged("plain", "plain")
    other = judged("scripted", f"other?note={'<' * 80}")._replace(calibration=calibration)
    return report_of(benchmark, one, plain, other, resamples=100)


def test_the_figures_are_drawings_of_their_numbers(report):
    drawings = figures(report)
    assert set(drawings) == {RELIABILITY, COVERAGE_RISK}
    for svg in drawings.values():
        root = ET.fromstring(svg)
        width, height = (float(root.get(side)) for side in ("width", "height"))
        assert root.get("viewBox") == f"0 0 {width:g} {height:g}"
        for circle in root.iter(f"{SVG}circle"):
            assert 0 < float(circle.get("cx")) < width
            assert 0 < float(circle.get("cy")) < height
        texts = [text.text for text in root.iter(f"{SVG}text")]
        assert "scripted" in texts
        assert "plain" not in texts, "it has no probabilities"
        assert any(text.startswith("other?note=%3C") and text.endswith("…") for text in texts)
    # The point (p, p) of probabilities that are true lies on the rule from corner to corner.
    lines = [
        path
        for path in ET.fromstring(drawings[RELIABILITY]).iter(f"{SVG}path")
        if path.get("class") == "line"
    ]
    assert len(lines) == 2
    assert lines[0].get("d").count("L") + 1 == len(report.curves[0].reliability)


def test_the_report_shows_them_only_where_there_are_probabilities(
    benchmark, judged, report_of, report
):
    text = render(report)
    assert f"![Reliability diagram]({RELIABILITY})" in text
    section = text.split("## Probability and abstention")[1].split("## ")[0]
    assert "2 (the calibration cannot vouch for it)" in section
    assert "`plain`" not in section
    report = report_of(benchmark, judged("plain", "plain"), resamples=100)
    assert report.curves == ()
    assert figures(report) == {}
    assert "svg" not in render(report)
