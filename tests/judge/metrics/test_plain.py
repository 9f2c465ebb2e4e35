"""The plain cases: written by hand before what they measure was built; reported, never tuned to."""

from collections import Counter
from pathlib import Path

import pytest

from moonlynx.judge.metrics.definition import definitions, load_definition
from moonlynx.recipes.luna2.data import read_rows

PLAIN = Path(__file__).with_name("plain")


@pytest.mark.parametrize("metric", definitions())
def test_there_are_sixty_of_each_metric_half_of_them_positive_and_five_hard(metric):
    definition = load_definition(metric)
    rows = read_rows(PLAIN / f"{metric}.jsonl", definition)
    assert len(rows) == len({row.input.id for row in rows}) == 60
    assert sum(row.source == "hard" for row in rows) == 5
    if definition.kind == "boolean":
        assert Counter(min(row.labels) for row in rows) == {"true": 30, "false": 30}
    elif definition.kind == "multi-label":
        assert sum(bool(row.labels) for row in rows) == 30
    else:
        assert min(Counter(min(row.labels) for row in rows).values()) >= 6
