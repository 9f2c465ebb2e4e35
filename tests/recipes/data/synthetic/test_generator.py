import ast
import json
import re
from itertools import islice
from pathlib import Path

import pytest

from moonlynx.recipes.data import synthetic as package
from moonlynx.recipes.data.synthetic import HELD_OUT_SCHEMAS, SCHEMAS, generate
from moonlynx.recipes.data.synthetic.printing import FORMS
from moonlynx.recipes.data.synthetic.words import lines, read_yaml

pytestmark = pytest.mark.heavy  # draws thousands of rows

README = Path(package.__file__).with_name("README.md").read_text(encoding="utf-8")
ERRORS = set(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE))


def sentences(answers):
    return [(answer, sentence) for answer in answers for sentence in answer.sentences]


def test_the_same_seed_gives_the_same_answers(answers):
    assert list(generate(300, seed=11)) == answers[:300]
    assert list(islice(generate(10**9, seed=11), 300)) == answers[:300]
    assert list(generate(300, seed=12)) != answers[:300]


def test_every_schema_form_error_and_kind_of_question_occurs(answers):
    assert len(SCHEMAS) >= 14
    assert {answer.schema for answer in answers} == set(SCHEMAS)
    assert {answer.form for answer in answers} == set(FORMS)
    assert {sentence.error for _, sentence in sentences(answers)} - {None} == ERRORS
    assert len(HELD_OUT_SCHEMAS) == 3
    assert set(SCHEMAS) >= HELD_OUT_SCHEMAS
    questions = [answer.question for answer in answers]
    assert 0.1 < questions.count("") / len(questions) < 0.2
    assert 0.2 < sum(q.endswith("?") for q in questions) / len(questions) < 0.6


def test_about_half_of_the_answers_are_wrong_and_most_sentences_right(answers):
    wrong = [sum(not sentence.supported for sentence in a.sentences) for a in answers]
    assert set(wrong) <= {0, 1, 2}
    assert 0.45 < sum(count > 0 for count in wrong) / len(answers) < 0.55
    assert 0.15 < sum(wrong) / len(sentences(answers)) < 0.25


def test_sentences_cover_the_answer(answers):
    for answer in answers:
        assert 1 <= len(answer.sentences) <= 8
        rest = list(answer.answer)
        for sentence in answer.sentences:
            text = answer.answer[sentence.start : sentence.end]
            assert text == text.strip()
            assert text[-1] in '.:"?!', text
            assert text[0] == text[0].upper(), text
            assert not re.search(r"\$[a-z]|[<>]|  |\.\.", text), text
            rest[sentence.start : sentence.end] = " " * len(text)
        assert not "".join(rest).strip(" \n-")


def test_spans_lie_in_the_wrong_sentences_and_only_there(answers):
    for answer, sentence in sentences(answers):
        assert sentence.supported == (sentence.error is None) == (not sentence.spans)
        ends = sentence.start
        for start, end in sentence.spans:
            assert ends <= start < end <= sentence.end
            piece = answer.answer[start:end]
            assert piece == piece.strip()
            ends = end


def test_contexts_parse(answers):
    for answer in answers:
        if answer.form in {"pretty", "compact", "line"}:
            assert isinstance(json.loads(answer.context), dict)
        elif answer.form == "python":
            assert isinstance(ast.literal_eval(answer.context), dict)
        else:
            assert ":" in answer.context.splitlines()[0]
    nulls = sum("null" in a.context for a in answers if a.form == "compact")
    assert nulls > 0.5 * sum(a.form == "compact" for a in answers)
    shown = "\n".join(a.context for a in answers if a.form == "python")
    assert all(word in shown for word in ("None", "True", "False"))


def test_kinds_of_facts_have_at_least_six_phrases():
    for name in SCHEMAS:
        for fact, spec in read_yaml(name)["facts"].items():
            for form in ("say", "has", "both", "lacks", "more", "less"):
                phrases = lines(spec[form]) if form in spec else None
                assert phrases is None or len(set(phrases)) >= 6, (name, fact, form, len(phrases))
    forms = read_yaml("common").items()
    assert all(len(lines(phrases)) >= 6 for form, phrases in forms if form != "source")
