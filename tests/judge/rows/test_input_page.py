"""docs/input.md says what the code does."""

import re
from pathlib import Path

import pytest

from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.rows.archives import MAGIC
from moonlynx.judge.rows.fields import FieldMap
from moonlynx.judge.rows.formats import MAX_ROW, read_raw
from moonlynx.judge.rows.names import IGNORED, NAMES

PAGE = (Path(__file__).parents[3] / "docs" / "input.md").read_text(encoding="utf-8")


def table(heading):
    body = PAGE.split(f"| {heading} |\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [line.strip("| ").split(" | ") for line in body]


def names(cell):
    return tuple(re.findall(r"`([^`]+)`", cell))


def test_the_names_are_those_that_are_taken_or_ignored():
    assert {names(field)[0]: names(cell) for field, cell in table("field | names")} == NAMES
    told = {name: why for cell, why in table("name | why") for name in names(cell)}
    assert told == {name: why for name, (_, why) in IGNORED.items()}


def test_the_mappings_can_be_given():
    shown = [mapping for _, mapping in table("export | mapping")]
    pairs = [re.findall(r"--map (\S+?)(?=[` ])", mapping) for mapping in shown]
    assert sum(map(len, pairs)) > 10
    for mapping in pairs:
        assert len(FieldMap.parse(mapping).paths) == len(mapping)


def test_the_endings_are_those_that_are_read(tmp_path):
    endings = [ending for cell, _ in table("ending | what") for ending in names(cell)]
    with pytest.raises(BadInput) as refused:
        list(read_raw(tmp_path.joinpath("a.xml").touch() or tmp_path / "a.xml"))
    known = refused.value.message
    assert sorted(re.findall(r"\.\w+", known)) == sorted([*endings, *MAGIC])
    assert all(f"`{ending}`" in PAGE for ending in MAGIC)
    assert f"{MAX_ROW >> 20} MiB" in PAGE
