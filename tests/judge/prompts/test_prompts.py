import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge import prompts
from moonlynx.judge.prompts import fill, load_prompt, mark_outside

from ...strategies import any_strings, prose

NAMES = sorted(
    file.name.removesuffix(".txt")
    for file in files(prompts).iterdir()
    if file.name.endswith(".txt")
)
FIELD = re.compile(r"\{\{(.*?)\}\}")


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_prompt_is_versioned_loadable_and_fillable(name):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*-v\d+", name)
    template = load_prompt(name)
    fields = FIELD.findall(template)
    assert fields
    filled = fill(template, **{field: f"<{field}>" for field in fields})
    assert not FIELD.search(filled)
    assert all(f"<{field}>" in filled for field in fields)
    assert template == template.strip()


def test_fields_are_filled_in_one_pass():
    assert fill("{{a}}|{{b}}", a="{{b}}", b="{{a}}") == "{{b}}|{{a}}"
    assert fill("{{a}}", a="{{a}}") == "{{a}}"
    assert fill("{{{{a}}}}", a="b") == "{{b}}"
    assert fill(r"{{a}}", a=r"\1 \g<0> \n") == r"\1 \g<0> \n"


@pytest.mark.fuzz
@given(st.lists(prose, min_size=3, max_size=3))
def test_texts_stand_in_a_prompt_as_they_are(values):
    first, second, third = (f"{value}{{{{b}}}}" for value in values)
    assert fill("x{{a}}y{{b}}z{{c}}", a=first, b=second, c=third) == f"x{first}y{second}z{third}"


@pytest.mark.fuzz
@given(st.lists(any_strings | st.text("= \n"), max_size=3))
def test_a_mark_stands_in_none_of_the_texts(values):
    mark = mark_outside(*values)
    assert set(mark) == {"="}
    assert len(mark) >= 5
    assert not any(mark in value for value in values)
