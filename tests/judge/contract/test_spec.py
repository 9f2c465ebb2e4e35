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

from ...strategies import any_strings, filled, texts

# Every form of the grammar, with what it means.
SPECS = {
    "luna": JudgeSpec("luna"),
    "token-similarity": JudgeSpec("token-similarity"),
    "luna2:toxicity": JudgeSpec("luna2", "toxicity"),
    "luna:./weights@torch": JudgeSpec("luna", "./weights", "torch"),
    "luna@onnx": JudgeSpec("luna", backend="onnx"),
    "lynx:ORG/Model-8B@http://localhost:8001/v1": JudgeSpec(
        "lynx", "ORG/Model-8B", "http://localhost:8001/v1"
    ),
    "lynx@https://example.org/v1?seed=1": JudgeSpec(
        "lynx", backend="https://example.org/v1", options={"seed": "1"}
    ),
    "lynx@http://[::1]:8001/v1": JudgeSpec("lynx", backend="http://[::1]:8001/v1"),
    "lynx:m@transformers?load=nf4&seed=1": JudgeSpec(
        "lynx", "m", "transformers", {"load": "nf4", "seed": "1"}
    ),
    "a?x=": JudgeSpec("a", options={"x": ""}),
    "a?x=1=2": JudgeSpec("a", options={"x": "1=2"}),
    "a?x=%26%3D+%3F": JudgeSpec("a", options={"x": "&= ?"}),
    "a?path=C:/x@y": JudgeSpec("a", options={"path": "C:/x@y"}),
    " a ": JudgeSpec("a"),
    "cascade(a,b)": CascadeSpec((JudgeSpec("a"), JudgeSpec("b"))),
    "cascade(luna, lynx:m@vllm?x=1)": CascadeSpec(
        (JudgeSpec("luna"), JudgeSpec("lynx", "m", "vllm", {"x": "1"}))
    ),
    "cascade(a,cascade(b,c),d)": CascadeSpec(
        (JudgeSpec("a"), CascadeSpec((JudgeSpec("b"), JudgeSpec("c"))), JudgeSpec("d"))
    ),
    "cascade(a?x=1,b)?policy=dir/p.json&on-failure=keep": CascadeSpec(
        (JudgeSpec("a", options={"x": "1"}), JudgeSpec("b")),
        {"policy": "dir/p.json", "on-failure": "keep"},
    ),
    "cascade(a,cascade(b,c)?y=2)": CascadeSpec(
        (JudgeSpec("a"), CascadeSpec((JudgeSpec("b"), JudgeSpec("c")), {"y": "2"}))
    ),
    "cascade(a:dir(1)/m,b)": CascadeSpec((JudgeSpec("a", "dir(1)/m"), JudgeSpec("b"))),
}


@pytest.mark.parametrize(("text", "spec"), SPECS.items())
def test_every_form_of_the_grammar_is_read(text, spec):
    assert parse_spec(text) == spec
    assert parse_spec(str(spec)) == spec


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


# What is wrong with a name, and a part of the message that says so.
BAD_NAMES = {
    "": "lower-case letters, digits and dashes",
    "Luna": "lower-case letters, digits and dashes",
    "token_similarity": "lower-case letters, digits and dashes",
    "token--similarity": "lower-case letters, digits and dashes",
    "-a": "lower-case letters, digits and dashes",
    "two words": "lower-case letters, digits and dashes",
    "żółw": "lower-case letters, digits and dashes",
    ":model": "as in 'token-similarity' or 'lynx:ORG/MODEL@vllm'",
    "a,b": "lower-case letters, digits and dashes",
    "lynx:": "no model; give a path or a Hub id",
    "lynx:@vllm": "no model; give a path or a Hub id",
    "lynx: @vllm": "no model; give a path or a Hub id",
    "lynx:m@": "use one of onnx, torch, transformers, vllm, fake or an http(s) URL",
    "lynx:m@vlm": "use one of onnx, torch, transformers, vllm, fake or an http(s) URL",
    "lynx:m@ftp://example.org": "or an http(s) URL",
    "lynx:m@localhost:8001": "or an http(s) URL",
    "lynx:m@http://": "or an http(s) URL",
    "lynx:m@http:///v1": "or an http(s) URL",
    "lynx:m@http://[::1/v1": "or an http(s) URL",
    "lynx:m@http://h:port": "or an http(s) URL",
    "lynx:m@http://h:99999": "or an http(s) URL",
    "lynx:m@http://h h/v1": "or an http(s) URL",
    "a?": "options are written ?key=value&key=value",
    "a?x": "options are written ?key=value&key=value",
    "a?x=1&": "options are written ?key=value&key=value",
    "a?x=1&&y=2": "options are written ?key=value&key=value",
    "a?=1": "an option has no name",
    "a?x=1&x=2": "option 'x' is given twice",
    "a?x=\ud800": "holds a lone surrogate",
    "cascade()": "at least two judges",
    "cascade(a)": "at least two judges",
    "cascade(a,)": "lower-case letters, digits and dashes",
    "cascade(,a)": "lower-case letters, digits and dashes",
    "cascade(a,b": "must close at the name's end",
    "cascade(a,b)@vllm": "must close at the name's end",
    "cascade(a,b)?": "options are written ?key=value&key=value",
    "cascade(a,b)?x=1)": "a bracket is closed that was never opened",
    "cascade(a,cascade(b,c)?x=1": "a bracket is never closed",
    "cascade(a,b),c": "must close at the name's end",
    "cascade(a,cascade(b,c)": "a bracket is never closed",
    "cascade(a,b))": "a bracket is closed that was never opened",
    "cascade(a,b),cascade(c,d)": "a bracket is closed that was never opened",
    "cascade(a,lynx:m@vlm)": "or an http(s) URL",
    "cascade(a," * 17 + "b" + ")" * 17: "at most 16 cascades",
    "cascade(a," * 20_000 + "b" + ")" * 20_000: "at most 16 cascades",
}


@pytest.mark.parametrize(("text", "part"), BAD_NAMES.items(), ids=[name[:40] for name in BAD_NAMES])
def test_a_malformed_name_is_refused_with_what_is_allowed(text, part):
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    assert part in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "text",
    [
        "lynx:m@http://user:hunter2@example.org/v1",
        "lynx:m@http://hunter2@example.org/v1",
        "lynx:m@https://:hunter2@example.org/v1",
        "lynx:m@ftp://user:hunter2@example.org",
        "lynx:http://user:hunter2@example.org/v1",
        "lynx:m@user:hunter2@example.org:8001",
        "lynx:m@http://user:hunter2/x@example.org",
        "lynx:m@http://user:hunter2?x@example.org",
        "LYNX:m@http://user:hunter2@example.org",
        "a?embeddings=http://user:hunter2@example.org",
        "a?x=1&x=http://user:hunter2@example.org",
        "cascade(luna,lynx:m@http://user:hunter2@example.org/v1)",
        "cascade(luna,lynx:m@http://user:hunter2@example.org/v1",
        "cascade(lynx:m@ftp://user:hunter2@example.org)",
    ],
)
def test_a_password_is_refused_and_not_repeated(text):
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
