import pytest

from moonlynx.judge.contract.types import JudgeInfo, Stage, Usage, Verdict
from moonlynx.judge.decision.cost import Price, PriceError, estimate_tokens, load_prices, show_usage


def test_usage_is_priced_added_up_shown_and_estimated():
    usage = Usage(calls=1, input_tokens=2_000_000, output_tokens=500_000)
    assert Price.parse("0.5, 1.5") == Price(0.5, 1.5)
    assert Price(0.5, 1.5).of(usage) == 1.75
    usage = Usage(calls=600, input_tokens=1_000, output_tokens=10)
    assert show_usage(usage + usage, "calls") == "1,200 calls (2,000 tokens in, 20 out)"
    assert estimate_tokens("abcd" * 10) == 10
    assert estimate_tokens("ääää") == 2


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"])
def test_what_is_no_price_is_said(text):
    with pytest.raises(PriceError, match="no price"):
        Price.parse(text)


TABLE = """{"updated": "2026-11-21", "currency": "USD", "source": "test",
    "models": {"big": {"input": 2.0, "output": 10.0}}}"""


def test_a_verdict_is_priced_stage_by_stage(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(TABLE)
    table = load_prices(path)
    usage = Usage(calls=1, input_tokens=1_000_000, output_tokens=100_000)
    whole = Verdict(score="PASS", judge=JudgeInfo(name="lynx:big", version="1"), usage=usage)
    assert table.of(whole) == 3.0
    first = Stage(judge="luna", score="PASS", decided=False, usage=Usage(input_tokens=500))
    second = Stage(judge="lynx:big", score="PASS", decided=True, usage=usage)
    cascade = JudgeInfo(name="cascade(luna,lynx:big)", version="1")
    assert table.of(whole.model_copy(update={"judge": cascade, "stages": (first, second)})) == 3.0
    other = second.model_copy(update={"judge": "lynx:other"})
    assert table.of(whole.model_copy(update={"stages": (first, other)})) is None


@pytest.mark.parametrize("text", [None, "no", '{"models": {}}', TABLE.replace("2.0", "-1")])
def test_what_is_no_price_table_is_said(tmp_path, text):
    path = tmp_path / "prices.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PriceError, match=r"prices\.json"):
        load_prices(path)
