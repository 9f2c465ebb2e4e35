import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.contract.spec import (
    LOCAL_BACKENDS,
    CascadeSpec,
    JudgeSpec,
    SpecError,
    parse_spec,
)

from ...cases import cases
from ...strategies import any_strings, filled, texts


def built(spec):
    if isinstance(spec, list):
        return JudgeSpec(*spec)
    return CascadeSpec(tuple(map(built, spec["stages"])), spec["options"])


# Every form of the grammar, with what it means.
@pytest.mark.parametrize(("text", "spec"), cases(__file__, "specs"))
def test_every_form_of_the_grammar_is_read(text, spec):
    assert parse_spec(text) == built(spec)
    assert parse_spec(str(built(spec))) == built(spec)


judge_specs = st.builds(
    JudgeSpec,
    name=st.from_regex(r"[a-z0-9]{1,4}(-[a-z0-9]{1,4}){0,2}", fullmatch=True),
    model=st.none() | st.from_regex(r"[\w./-]([\w ./:=&#%+~-]{0,20}[\w./-])?", fullmatch=True),
    backend=st.none()
    | st.sampled_from(LOCAL_BACKENDS)
    | st.from_regex(
        r"https?://[a-z0-9.-]{1,9}[a-z](:[1-9][0-9]{0,3})?(/[\w.~-]{0,9})*", fullmatch=True
    ),
    options=st.dictionaries(filled, texts, max_size=3),
)
specs = st.recursive(
    judge_specs,
    lambda inner: st.builds(
        CascadeSpec,
        st.lists(inner, min_size=2, max_size=3).map(tuple),
        st.dictionaries(filled, texts, max_size=3),
    ),
    max_leaves=6,
)


@pytest.mark.fuzz
@given(specs)
def test_a_written_spec_is_read_back_equal(spec):
    assert parse_spec(str(spec)) == spec


@pytest.mark.fuzz
@given(
    any_strings
    | st.text("ab:@?=&,()%/ .-", max_size=30)
    | st.lists(
        st.sampled_from(
            ["cascade(", "a", "lynx", ":m", "@vllm", "@http://h/v1", "?x=1", "&y", ",", ")"]
        )
    ).map("".join)
)
def test_every_string_is_a_spec_that_round_trips_or_a_spec_error(text):
    try:
        spec = parse_spec(text)
    except SpecError as error:
        str(error).encode("utf-8")
    else:
        assert parse_spec(str(spec)) == spec


BAD_NAMES = [
    *cases(__file__, "bad_names"),
    *({"name": "cascade(a," * n + "b" + ")" * n, "says": "at most 16"} for n in (17, 20_000)),
]


@pytest.mark.parametrize("case", BAD_NAMES, ids=lambda case: case["name"][:40])
def test_a_malformed_name_is_refused_with_what_is_allowed(case):
    with pytest.raises(SpecError) as caught:
        parse_spec(case["name"])
    assert case["says"] in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("text", cases(__file__, "passwords"))
def test_a_password_is_refused_and_not_repeated(text):
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
