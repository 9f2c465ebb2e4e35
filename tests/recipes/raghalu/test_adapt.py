import numpy as np
import pytest

from moonlynx.judge.contract.types import BadInput, Example
from moonlynx.judge.judges.luna.aggregate import SupportModel
from moonlynx.judge.judges.raghalu.weights import EMBEDDED, open_heads
from moonlynx.judge.registry import load_judge
from moonlynx.recipes.raghalu.adapt import adapt_checkable, fit_support
from moonlynx.recipes.raghalu.brand import BrandError, BrandSentence, read_brand

from ...cases import cases, write_lines
from ...command import succeed

CONTEXT = "The gym costs 29 a month and opens at six. Courses and the sauna are included."
SILENT = "Tally-ho, my splendid gym friend number {}!"


def made(count, weights, seed=0):
    rng = np.random.default_rng(seed)
    new = rng.integers(0, 2, size=(count, 2))
    rows = np.column_stack([np.ones(count), rng.normal(size=count), rng.random(count), new])
    chance = 1 / (1 + np.exp(-rows @ weights))
    return rows, rng.random(count) < chance


def logits(model, rows):
    return rows @ list(model.model_dump().values())


def test_what_a_brand_differs_in_is_learned_and_one_label_alone_moves_the_bias():
    fitted = np.array(list(fit_support(*made(5_000, [0, 1, 0, 0, 0])).model_dump().values()))
    assert np.abs(fitted - [0, 1, 0, 0, 0]).max() < 0.25
    rows, labels = made(5_000, [1.5, 0.5, -2.0, -1.0, 0.0])
    fitted = fit_support(rows, labels)
    assert fitted.bias == pytest.approx(1.5, abs=0.4)
    assert fitted.new_words == pytest.approx(-2.0, abs=0.4)
    better = ((logits(fitted, rows) > 0) == labels).mean()
    assert better > ((logits(SupportModel(), rows) > 0) == labels).mean()
    rows, _ = made(200, [0, 1, 0, 0, 0])
    assert (logits(fit_support(rows, np.ones(200, dtype=bool)), rows) > np.log(9)).all()


def brand_rows(silent=0):
    rows = [("The gym costs 29 a month.", "SUPPORTED"), ("The gym opens at six.", "SUPPORTED")] * 12
    rows += [("The gym costs 80 a month.", "UNSUPPORTED"), ("It has a pool.", "UNSUPPORTED")] * 12
    rows += [(SILENT.format(number), "NO_INFO") for number in range(silent)]
    return [{"sentence": text, "label": label, "context": CONTEXT} for text, label in rows]


def test_tier_one_learns_a_brands_small_talk_and_keeps_the_rest(tmp_path):
    model = open_heads(EMBEDDED).heads.checkable
    rows = [BrandSentence.model_validate(row) for row in brand_rows(silent=20)]
    fitted = adapt_checkable(model, rows)
    other = SILENT.format("forty")
    assert fitted.probability(other) > model.probability(other)
    assert fitted.claims_nothing(other)
    assert not fitted.claims_nothing("The gym costs 29 a month.")
    assert fitted.claims_nothing("I hope this helps!")
    assert adapt_checkable(model, rows[:-15]) == model  # too few to learn from
    rows = [row for row in brand_rows() if row["label"] == "SUPPORTED"]
    with pytest.raises(BrandError, match="0 sentences are UNSUPPORTED"):
        read_brand(write_lines(tmp_path / "brand.jsonl", *rows))


@pytest.mark.parametrize(("change", "message"), cases(__file__, "wrong_rows"))
def test_a_wrong_row_names_line_and_field(change, message, tmp_path):
    rows = brand_rows()
    rows[1] = rows[1] | change
    with pytest.raises(BadInput, match=message):
        read_brand(write_lines(tmp_path / "brand.jsonl", *rows))


@pytest.mark.heavy
def test_the_command_writes_weights_that_judge(tmp_path):
    data = write_lines(tmp_path / "brand.jsonl", *brand_rows(silent=20))
    out = tmp_path / "brand"
    succeed("train", "raghalu", "--data", data, "--out", out)
    judge = load_judge(f"raghalu:{out}")
    assert judge.info.version != load_judge("raghalu").info.version
    answer = "Tally-ho, my splendid gym friend! The gym costs 29 a month."
    (verdict,) = judge([Example(context=CONTEXT, answer=answer)])
    assert [sentence.label for sentence in verdict.sentences] == ["NO_INFO", "SUPPORTED"]
