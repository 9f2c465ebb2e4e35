"""What only announces an answer is told from what it says."""

import json

import pytest

from moonlynx.judge.text import announcement_end

from ...cases import cases


@pytest.mark.parametrize("case", cases(__file__, "announcements"), ids=json.dumps)
def test_an_announcement_says_no_more_than_its_question(case):
    question, sentence, rest = case
    end = announcement_end(sentence, question)
    assert (sentence[end:] if end else None) == rest
