import json

import numpy as np
import pytest

from moonlynx.judge.contract.types import Example
from moonlynx.judge.decision.calibration import Calibration
from moonlynx.judge.decision.lengths import LEAST, ByLength, Lengths, Threshold
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.registry import load_judge

from ...fitting import fit
from ..judges.luna.tiny import build_tiny_luna

INFO = load_judge("token-similarity").info
WRONG = "The tower is green."
RIGHT = "The tower is red."


def draw(rng, count, rise=0.8):
    """Log-odds of faithful and hallucinated rows are 2 apart, and rise with the length."""
    claims = rng.choice([1, 1, 2, 3, 5, 6, 9, 12], count)
    failed = rng.random(count) < claims / 20 + 0.2
    odds = rng.normal(2.0 * failed + rise * np.log(claims) - 2, 1.2)
    return (1 / (1 + np.exp(-odds))).round(4), failed, claims


def fit_lengths(scores, failed, claims):
    labels = ["FAIL" if one else "PASS" for one in failed]
    lengths = Lengths(claims.tolist(), [str(i // 3) for i in range(len(claims))])
    return fit(INFO, scores.tolist(), labels, lengths=lengths)


def stops(threshold, scores, claims):
    return np.array([s >= threshold.at(n) for s, n in zip(scores, claims, strict=True)])


def test_guard_and_audit_keep_their_errors_at_every_length():
    rng = np.random.default_rng(0)
    errors = {"guard": [], "audit": []}
    for _ in range(4):
        fitted = fit_lengths(*draw(rng, 1200)).by_length
        scores, failed, claims = draw(rng, 3000)
        for low, high in ((1, 1), (2, 3), (4, 7), (8, 12)):
            band = (claims >= low) & (claims <= high)
            stopped, found = (
                stops(fitted.threshold(p), scores, claims)[band] for p in ("guard", "audit")
            )
            errors["guard"].append((low, stopped[~failed[band]].mean()))
            errors["audit"].append((low, 1 - found[failed[band]].mean()))
    for found in errors.values():
        for start in (1, 2, 4, 8):
            assert 0.02 < np.mean([error for low, error in found if low == start]) < 0.13


def test_balanced_rises_with_the_length_and_beats_one_threshold_for_all():
    rng = np.random.default_rng(1)
    calibration = fit_lengths(*draw(rng, 800))
    values = calibration.by_length.threshold("balanced").values
    assert sorted(values) == list(values)
    assert calibration.lowest == min(values[0], calibration.threshold)
    scores, failed, claims = draw(rng, 4000)
    short, long = claims < 3, claims > 7
    one, by_length = (
        scores >= calibration.threshold,
        stops(calibration.by_length.threshold("balanced"), scores, claims),
    )
    assert one[long & ~failed].mean() > by_length[long & ~failed].mean() + 0.1
    assert by_length[short & failed].mean() > one[short & failed].mean() + 0.05
    cost = {row.claims: row for row in calibration.by_length.costs}
    assert sum(row.passes + row.fails for row in cost.values()) == 800
    assert cost[8].stopped["guard"] < cost[8].stopped["balanced"] < cost[8].stopped["audit"]


def test_where_length_says_nothing_the_thresholds_hardly_differ():
    calibration = fit_lengths(*draw(np.random.default_rng(2), 3000, rise=0.0))
    values = calibration.by_length.threshold("balanced").values
    assert max(values) - min(values) < 0.08


def test_bands_of_few_rows_join_and_where_all_are_few_there_are_none():
    rng = np.random.default_rng(3)
    scores, failed, claims = draw(rng, 400)
    some = (claims < 4) | (np.cumsum((claims >= 4) & failed) < LEAST)
    joined = fit_lengths(scores[some], failed[some], claims[some]).by_length
    assert [band.claims for band in joined.bands] == [1, 2]
    assert fit_lengths(*(column[:30] for column in (scores, failed, claims))).by_length is None
    assert (
        fit(INFO, scores.tolist(), ["FAIL" if one else "PASS" for one in failed]).by_length is None
    )


@pytest.fixture(scope="module")
def luna(tmp_path_factory):
    """Weights whose calibration stops one wrong claim alone, but not one of two claims."""
    folder = build_tiny_luna(tmp_path_factory.mktemp("weights") / "luna")
    info = load_judge(f"luna:{folder}").info
    calibration = fit(info, [0.1, 0.2, 0.3, 0.4] * 10, ["PASS", "PASS", "FAIL", "FAIL"] * 10)
    bands = [
        {"claims": 1, "guard": 0.95, "balanced": 0.06, "audit": 0.05},
        {"claims": 2, "guard": 0.95, "balanced": 0.09, "audit": 0.05},
    ]
    by_length = ByLength.model_validate({"bands": bands, "costs": []})
    save_record(calibration.model_copy(update={"by_length": by_length}), folder / "own.json")
    return f"luna:{folder}?calibration={folder / 'own.json'}"


@pytest.mark.parametrize(
    ("preset", "scores"),
    [("", ["FAIL", "PASS"]), ("guard", ["PASS", "PASS"]), ("audit", ["FAIL", "FAIL"])],
)
def test_luna_decides_by_the_number_of_claims(luna, preset, scores):
    context = "The tower is red."
    examples = [Example(context=context, answer=a) for a in (WRONG, f"{RIGHT} {WRONG}")]
    verdicts = load_judge(luna + f"&preset={preset}" * bool(preset))(examples)
    assert [verdict.score for verdict in verdicts] == scores
    for verdict in verdicts:
        assert [span.text for span in verdict.spans] == ["green"] * (verdict.score == "FAIL")


def test_files_of_before_are_read_and_cannot_hold_lengths():
    new = fit_lengths(*draw(np.random.default_rng(4), 300)).model_dump(mode="json")
    older = {k: v for k, v in new.items() if k != "by_length"} | {"schema_version": "1.2"}
    assert Calibration.model_validate_json(json.dumps(older)).by_length is None
    with pytest.raises(ValueError, match=r"by_length belongs to version 1\.3"):
        Calibration.model_validate_json(json.dumps(new | {"schema_version": "1.2"}))
    with pytest.raises(ValueError, match="begin at 1 claim and rise"):
        ByLength.model_validate({"bands": new["by_length"]["bands"][1:], "costs": []})


def test_a_threshold_is_that_of_its_band():
    threshold = Threshold((1, 2, 4), (0.2, 0.4, 0.6))
    assert [threshold.at(n) for n in (0, 1, 2, 3, 4, 90)] == [0.2, 0.2, 0.4, 0.4, 0.6, 0.6]
