"""Labels are derived anew from the printed record, by other means than the generator's."""

import json
import re

import pytest

from moonlynx.recipes.data.synthetic import SCHEMAS
from moonlynx.recipes.data.synthetic.numbers import WORDS
from moonlynx.recipes.data.synthetic.schema import load_schema
from moonlynx.recipes.data.synthetic.words import lines, read_yaml

JSON = {"pretty", "compact", "line"}
HEDGE = re.compile(
    r"\b(about|around|roughly|approximately|over|more than|nearly|almost|under) \d", re.I
)
YES_NO = {"true": True, "false": False, "yes": True, "no": False}


def squeeze(key):
    return re.sub(r"[^a-z0-9]", "", str(key).lower())


def leaves(tree, path=""):
    """Yield every value under its key; of a path in objects or in dotted keys, the last part."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value)
        yield squeeze(key.rpartition(".")[2]), value


def simple_claims(answers, kind):
    """Yield claims of one kind of fact about the record itself, with schema, fact and phrase."""
    for answer in answers:
        if answer.form in JSON:
            values = dict(leaves(json.loads(answer.context)))
            for sentence in answer.sentences:
                if "+" in sentence.family or sentence.family.startswith("filler"):
                    continue
                schema, fact, *_, form, phrase = sentence.family.split("/")
                spec = load_schema(schema).facts[fact]
                if spec.get("kind", "value") == kind and "." not in str(spec["of"]):
                    text = answer.answer[sentence.start : sentence.end]
                    yield values, sentence, spec, form, int(phrase), text, schema


def printed(values, field):
    """Find a field in the record by the keys it may have; None where null, missing or elsewhere."""
    found = [values[squeeze(key)] for key in field.keys if squeeze(key) in values]
    return found[0] if found else None


def read_number(text):
    text = text.replace(",", "").strip().lower()
    return float(WORDS.index(text)) if text in WORDS else float(text)


def said_number(phrase, text):
    """Read the number that stands in a phrase's value slot; None if it is hedged or unreadable."""
    parts = re.split(r"(\$\w+)", phrase.replace("<", "").replace(">", ""))
    pattern = "".join(
        r"(?P<value>[\d,.-]*\d|" + "|".join(WORDS) + ")"
        if part in {"$v", "$x"}
        else ".+"
        if part.startswith("$")
        else re.escape(part)
        for part in parts
    )
    match = re.search(pattern, text, re.IGNORECASE)
    return read_number(match["value"]) if match else None


def check(claims, least_right, least_wrong):
    """Compare each claim's label with its truth; both labels must be frequent enough."""
    seen = {True: 0, False: 0}
    for sentence, holds, shown in claims:
        assert sentence.supported == holds, shown
        seen[sentence.supported] += 1
    assert seen[True] > least_right
    assert seen[False] > least_wrong


def sentences(answers, fact):
    """Yield the sentences about a kind of fact, with their answer, form and text."""
    for answer in answers:
        for sentence in answer.sentences:
            _, name, *form = sentence.family.split("/")
            if name == fact and "+" not in sentence.family:
                yield answer, sentence, form[0], answer.answer[sentence.start : sentence.end]


def test_plain_numbers(answers):
    def claims():
        for values, sentence, spec, form, phrase, text, schema in simple_claims(answers, "value"):
            _, field = load_schema(schema).field(spec["of"])
            is_plain = field.kind.spec.get("kind", "number") == "number" and not field.kind.units
            if form == "say" and is_plain and not HEDGE.search(text):
                said = said_number(lines(spec["say"])[phrase], text)
                value = printed(values, field)
                if said is not None:
                    yield sentence, value is not None and said == value, (text, value)

    check(claims(), 300, 60)


@pytest.mark.parametrize(("kind", "least"), [("flag", (90, 30)), ("choice", (200, 40))])
def test_states(answers, kind, least):
    def claims():
        for values, sentence, spec, form, _, text, schema in simple_claims(answers, "state"):
            _, field = load_schema(schema).field(spec["of"])
            if field.kind.spec["kind"] == kind:
                value = printed(values, field)
                truth = "unknown" if value is None else str(value)
                if kind == "flag" and value is not None:
                    truth = str(YES_NO[truth.lower()])
                yield sentence, truth == form, (text, value)

    check(claims(), *least)


def test_quotations(answers):
    def claims():
        for answer, sentence, form, text in sentences(answers, "reviews"):
            if form == "quote":
                quote = re.search(r'"(.*?)[.,]?"', text)[1]
                yield sentence, quote in answer.context, text

    check(claims(), 30, 10)


def test_closed_and_open_days(answers):
    def claims():
        for answer, sentence, form, text in sentences(answers, "hours"):
            if answer.form in JSON and form in {"shut", "open", "unstated"}:
                day = re.search(r"(\w+day)\b", text)[1]
                values = dict(leaves(json.loads(answer.context)))
                hours = values.get(squeeze(day), values.get(squeeze(day[:3])))
                truth = "shut" if "losed" in str(hours).lower() else "open"
                yield sentence, form == ("unstated" if hours is None else truth), answer

    check(claims(), 5, 5)


def test_the_largest_and_the_smallest(answers):
    def claims():
        for answer in (answer for answer in answers if answer.form in JSON):
            for sentence in answer.sentences:
                schema, fact, *form = sentence.family.split("/")
                if "+" in sentence.family or form[:1] not in (["most"], ["least"]):
                    continue
                spec = load_schema(schema)
                table, field = spec.field(spec.facts[fact]["of"])
                label = next(f for f in table.fields if f.name == table.label)
                rows = rows_of(answer, table)
                amounts = [amount(row, field) for row in rows]
                names = [str(printed(dict(leaves(row)), label)) for row in rows]
                text = answer.answer[sentence.start : sentence.end].lower()
                named = [
                    value
                    for value, name in zip(amounts, names, strict=True)
                    if re.search(rf"\b{re.escape(spoken_label(label, name).lower())}(?!\d)", text)
                ]
                if None not in amounts and len(named) == 1:
                    best = (max if form[0] == "most" else min)(amounts)
                    yield sentence, named[0] == best, (text, rows)

    check(claims(), 20, 5)


def spoken_label(label, name):
    said = getattr(label.kind, "said", {})
    return said.get(name, [name])[0]


def rows_of(answer, table):
    keys = {squeeze(key) for key in table.keys}
    tree = json.loads(answer.context)
    return next(value for key, value in tree.items() if squeeze(key) in keys)


def amount(row, field):
    """Read a number from a row, be its unit in the key, in the text or beside it."""
    starts = tuple(squeeze(key) for key in field.keys)
    for key, value in row.items():
        if squeeze(key).startswith(starts):
            value = value["value"] if isinstance(value, dict) else value
            match = re.match(r"-?[\d,.]*\d", str(value))
            if match and "h" not in str(value):
                return float(match[0].replace(",", ""))
    return None


def test_phrases_of_states_have_one_text_for_each_state():
    for name in SCHEMAS:
        for fact, spec in read_yaml(name)["facts"].items():
            if spec.get("kind") == "state":
                states = len(spec.get("order", (True, False)))
                for phrase in lines(spec["say"]):
                    marks = re.findall(r"<([^<>]*)>", phrase)
                    assert marks, (name, fact, phrase)
                    assert all(mark.count("/") == states - 1 for mark in marks), (name, phrase)
                    for mark in marks:
                        assert len(set(mark.split("/"))) == states, (name, phrase)


def test_what_follows_from_printed_fields_can_be_worked_out():
    for schema in map(load_schema, SCHEMAS):
        for fields in (schema.fields, *(table.fields for table in schema.tables)):
            given = {field.name for field in fields if field.null + field.absent == 0}
            for field in fields:
                if field.hidden:
                    sources = field.kind.spec.get("between") or field.kind.spec["of"]
                    assert set(sources) <= given, (schema.name, field.name)
