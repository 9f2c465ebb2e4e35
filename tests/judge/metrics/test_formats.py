from itertools import pairwise

import pytest

from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.formats import FORMATS, find_formats

from ...cases import cases


@pytest.mark.parametrize(("text", "expected"), cases(__file__, "formats"))
def test_what_has_a_format_is_found_where_it_is_and_what_fails_its_check_is_not(text, expected):
    found = find_formats(text)
    assert [[kind, text[start:end]] for kind, start, end in found] == expected
    assert all(one.end <= two.start for one, two in pairwise(found))


def test_every_format_is_a_class_of_pii_and_a_long_text_takes_no_quadratic_time():
    assert set(FORMATS) <= load_definition("pii").classes.keys()
    assert len(find_formats("desk@example.com, " * 2_000)) == 2_000
