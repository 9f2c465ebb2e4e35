import json
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moonlynx.judge.prompts.parsing import LynxReply, ParseFault, encodable, parse_lynx

GOLDEN = Path(__file__).parent / "golden" / "lynx"
CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted(GOLDEN.glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))
]


def outcome(text, truncated=False):
    try:
        return parse_lynx(text, truncated)
    except ParseFault as fault:
        str(fault).encode("utf-8")  # goes into a verdict
        return fault.code


@pytest.mark.parametrize("case", CASES)
def test_golden(case):
    found = outcome(case["text"], case["truncated"])
    if "error" in case["expect"]:
        assert found == case["expect"]["error"]
    else:
        assert found.score == case["expect"]["score"]
        assert list(found.reasoning) == case["expect"]["reasoning"]
        assert case["text"][found.score_position :][:4].upper() == found.score


def test_the_golden_cases_are_all_there():
    assert len(CASES) >= 100


# Pieces of what models write, so that random texts come near to being verdicts.
PIECES = st.sampled_from(
    [
        *('{"REASONING": ', '"SCORE": ', "'score': ", "SCORE: ", "PASS", "FAIL", '"PASS"'),
        *('"FAIL"}', '["', '"]', '", "', "', '", '"', "'", "“", "”", "{", "}", "[", "]", ",", ":"),
        *("\n", "  ", "- a", "• b", "```json\n", "```", "<x>", "...", "null", "1.5", "é🚢"),
        *("\\", "\\u", "\ud800"),
    ]
)
MESSY = st.lists(PIECES, max_size=40).map("".join)
TEXT = st.one_of(
    st.text(), MESSY, st.text(st.characters(categories=["Cs", "Po", "Ps", "Pe", "Lu", "Zs", "Cc"]))
)


@pytest.mark.fuzz
@given(TEXT, st.booleans())
@example('{"SCORE":"PASS"}', True)
def test_any_text_gives_a_literal_score_or_a_fault(text, truncated):
    found = outcome(text, truncated)
    if isinstance(found, LynxReply):
        assert text[found.score_position :][:4].upper() == found.score
        assert all(encodable(bullet) == bullet for bullet in found.reasoning)
    else:
        assert found in ("unparsed", "contradictory", "truncated")
        assert (found == "truncated") <= truncated


@pytest.mark.fuzz
@given(TEXT, st.booleans())
def test_a_score_needs_its_key(text, truncated):
    if "score" not in text.lower():
        assert outcome(text, truncated) in ("unparsed", "truncated")


SCORES = st.sampled_from(["PASS", "FAIL"])
STRINGS = st.one_of(st.text(), MESSY)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | STRINGS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def objects(draw):
    entries = [("REASONING", draw(st.lists(STRINGS))), ("SCORE", draw(SCORES))]
    if draw(st.booleans()):
        entries.append((draw(st.sampled_from(["ID", "confidence", "a b"])), draw(JSON_VALUES)))
    return dict(draw(st.permutations(entries)))


@pytest.mark.fuzz
@given(objects(), st.booleans(), st.sampled_from([None, 2]), st.booleans())
def test_valid_json_is_read_as_json(verdict, ascii_only, indent, truncated):
    text = json.dumps(verdict, ensure_ascii=ascii_only, indent=indent)
    found = parse_lynx(text, truncated)
    assert found.score == json.loads(text)["SCORE"]
    assert list(found.reasoning) == [encodable(b) for b in json.loads(text)["REASONING"]]
    assert text[found.score_position - 1 :].startswith(f'"{found.score}"')


PLAIN = st.text(st.characters(categories=["L", "N", "Po", "Zs"], exclude_characters="{}"))
NOISE = PLAIN.filter(lambda noise: "score" not in noise.lower())


@pytest.mark.fuzz
@given(objects(), NOISE, NOISE, st.sampled_from(["", "```json\n", "```\n"]))
@example({"REASONING": [], "SCORE": "PASS", "ID": {"\U00010000" * 20: None}}, "", "", "")
def test_fences_and_prose_change_nothing(verdict, before, after, fence):
    bare = json.dumps(verdict)
    text = f"{before}\n{fence}{bare}\n{fence and '```'}{after}"
    found, alone = parse_lynx(text), parse_lynx(bare)
    assert (found.score, found.reasoning) == (alone.score, alone.reasoning)
    assert found.score_position == text.index(bare) + alone.score_position


@pytest.mark.fuzz
@given(st.lists(STRINGS), SCORES)
def test_python_literals_give_the_score(bullets, score):
    found = parse_lynx(repr({"REASONING": [encodable(b) for b in bullets], "SCORE": score}))
    assert found.score == score
    assert len(found.reasoning) == len(bullets)


@pytest.mark.fuzz
@given(objects(), st.data())
def test_a_cut_object_is_never_a_verdict(verdict, data):
    text = json.dumps(verdict)
    cut = data.draw(st.integers(0, len(text) - 1))
    assert outcome(text[:cut], truncated=True) == "truncated"


@pytest.mark.fuzz
@given(st.lists(PLAIN, max_size=4), MESSY, SCORES)
def test_judged_text_in_the_reasoning_is_not_the_score(bullets, quoted, score):
    text = json.dumps({"REASONING": [*bullets, quoted], "SCORE": score})
    assert parse_lynx(text).score == score


@pytest.mark.fuzz
@given(MESSY, SCORES)
def test_a_quote_without_escapes_never_turns_the_score(quoted, score):
    other = {"PASS": "FAIL", "FAIL": "PASS"}[score]
    found = outcome(f'{{"REASONING": ["It says: {quoted} so."], "SCORE": "{score}"}}')
    assert not isinstance(found, LynxReply) or found.score != other


UNITS = ['{"', "{", "[", '"', "'", "\\", " ", ",", '", "', '": ', '"   ', "{ ", "score: pass "]
UNITS += ['{"SCORE":"PASS"}', '{"SCORE":', '{"REASONING": x ', '{ "REASONING": <', "• ", "1. a\n"]
UNITS += ['{"x": "' + "a" * 63 + '\\"', '", "' + "a" * 40, "1\na\n", "\u2028", '{"a":[', "```\n"]
STARTS = ["", '{"REASONING": "', '{"REASONING": ["', '{"REASONING": ', "{'REASONING': '"]


@pytest.mark.parametrize("start", STARTS)
def test_time_is_linear(start):
    for unit in UNITS:
        for end in ("", '"], "SCORE": "PASS"}'):
            text = start + unit * (50_000 // len(unit)) + end
            begun = time.process_time()
            outcome(text)
            assert time.process_time() - begun < 1.0, unit
