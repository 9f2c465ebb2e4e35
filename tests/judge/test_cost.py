import pytest

from moonlynx.judge.cost import Price, PriceError, add_usage, estimate_tokens, show_usage
from moonlynx.judge.types import Usage


def test_prices_are_for_a_million_tokens():
    usage = Usage(calls=1, input_tokens=2_000_000, output_tokens=500_000)
    assert Price.parse("0.5, 1.5") == Price(0.5, 1.5)
    assert Price(0.5, 1.5).of(usage) == 1.75


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"])
def test_what_is_no_price_is_said(text):
    with pytest.raises(PriceError, match="no price"):
        Price.parse(text)


def test_usage_adds_up_and_is_shown():
    usage = Usage(calls=600, input_tokens=1_000, output_tokens=10)
    assert show_usage(add_usage(usage, usage), "calls") == "1,200 calls (2,000 tokens in, 20 out)"


def test_tokens_are_estimated_by_bytes():
    assert estimate_tokens("abcd" * 10) == 10
    assert estimate_tokens("ääää") == 2
