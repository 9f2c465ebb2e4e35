import json
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from moonlynx.judge.contract import schemas
from moonlynx.judge.contract.types import Example

from ...cases import cases
from ...strategies import examples, filled, metric_inputs, metric_verdicts, texts, verdicts

NAMES = ["example", "lynx", "metric_input", "metric_verdict", "verdict"]
VALIDATORS = {name: Draft202012Validator(schemas.load_schema(name)) for name in NAMES}


def test_the_shipped_files_are_those_of_the_records():
    shipped = {
        file.name.removesuffix(".json"): file.read_text(encoding="utf-8")
        for file in files(schemas).iterdir()
        if file.name.endswith(".json")
    }
    generated = {name: schemas.render(schema) for name, schema in schemas.generate().items()}
    assert shipped == generated, "run `make schemas`"
    assert sorted(shipped) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_valid_and_closed(name):
    schema = schemas.load_schema(name)
    Draft202012Validator.check_schema(schema)
    objects = [schema, *schema.get("$defs", {}).values()]
    assert all(part["additionalProperties"] is False for part in objects if "properties" in part)


def dumped(records):
    return records.map(lambda record: json.loads(record.model_dump_json()))


@pytest.mark.fuzz
@given(
    st.one_of(
        st.tuples(st.just("example"), dumped(examples())),
        st.tuples(st.just("verdict"), dumped(verdicts())),
        st.tuples(st.just("metric_input"), dumped(metric_inputs)),
        st.tuples(st.just("metric_verdict"), dumped(metric_verdicts())),
    )
)
def test_schemas_accept_what_records_write(named):
    name, value = named
    VALIDATORS[name].validate(value)


@pytest.mark.fuzz
@given(filled | st.lists(texts, max_size=2).map(lambda some: [*some, "text"]), filled)
def test_the_example_schema_accepts_what_a_row_may_hold(context, answer):
    row = {"context": context, "answer": answer}
    Example.from_row(row)
    VALIDATORS["example"].validate(row)


@pytest.mark.parametrize("case", cases(__file__, "schemas_refuse"), ids=json.dumps)
def test_schemas_refuse_what_the_records_refuse(case):
    with pytest.raises(ValidationError):
        VALIDATORS[case["schema"]].validate(case["value"])
