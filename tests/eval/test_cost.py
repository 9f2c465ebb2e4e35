from math import isclose
from pathlib import Path

import pytest

from moonlynx.eval.cost.estimate import VOLUME, claims, compute, cost_of, measured
from moonlynx.judge.decision.cost import load_prices

from ..command import moonlynx

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PRICES = load_prices()
# What a paper prints that the assumptions it states do not give: RAGAS by 1 %, and Luna-2's table,
# which says nothing of batches and of the tokens that a judge writes.
UNLIKE = ("RAGAS", "Luna-2 3B", "GPT 4.1 mini", "GPT 4.1", "Gemini 3 Pro", "Claude Sonnet 4.5")


def test_the_papers_sums_come_out_of_their_assumptions():
    assert {59_616, 1750, 105_480, 0.01} <= {claim.printed for claim in claims()}
    for claim in claims():
        computed, ours = compute(claim, PRICES)
        alike = isclose(claim.printed, computed, rel_tol=0.006)
        assert alike == (not claim.what.endswith(UNLIKE)), claim
        assert (ours is None) == (claim.ours is None), claim


def test_a_machine_is_paid_whole_and_all_month():
    (mini,) = [one for one in measured() if one.judge == "luna:mini" and "4,000" in one.reads]
    cost, hour = cost_of(mini, PRICES, VOLUME), PRICES.instances["c7a.large"]
    assert cost.million == pytest.approx(1e6 * mini.seconds / 3600 * hour)
    assert (cost.machines, cost.month) == (2, 2 * hour * 720)
    assert cost_of(mini, PRICES, 1).machines == 1


def test_every_speed_and_number_of_tokens_is_on_its_page():
    for one in measured():
        page = (RESULTS / one.page).read_text(encoding="utf-8")
        if one.seconds:
            forms = (f"{one.seconds:g}", f"{one.seconds * 1000:g}", f"{1 / one.seconds:.0f}")
            assert any(form in page for form in forms), one
        else:
            assert f"{one.tokens[0]:,}" in page, one


@pytest.mark.parametrize("format_", ["rich", "markdown", "csv"])
def test_the_command_shows_both_tables_with_a_machine_of_ones_own(format_):
    own = ["--machine", "25,0.98", "--volume", "25920000"]
    done = moonlynx("cost", *own, "--format", format_, env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.output
    # 10.89 dollars a million, one machine for 706 a month.
    for said in ("10.9", "706", "59,616", "105,480", "luna:mini"):
        assert said in done.output, said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--machine", "5"), "--machine 5: write PER_SECOND,HOUR"),
        (("--machine", "0,1"), "--machine 0,1: write PER_SECOND,HOUR"),
        (("--machine", "fast,-1"), "--machine fast,-1: write PER_SECOND,HOUR"),
        (("--volume", "0"), "--volume"),
        (("--prices", "no-such.json"), "cannot read no-such.json"),
    ],
)
def test_what_is_wrong_is_named(arguments, says):
    done = moonlynx("cost", *arguments)
    assert done.exit_code != 0
    assert says in done.output + str(done.exception)


def test_a_machine_or_a_model_without_a_price_is_named(tmp_path):
    for known, unknown in (("c7a.large", "c7a.huge"), ("gpt-4.1-mini", "gpt-9")):
        path = tmp_path / "prices.json"
        path.write_text(PRICES.model_dump_json().replace(known, unknown))
        assert f"{known!r}; it has" in str(moonlynx("cost", "--prices", path).exception)
