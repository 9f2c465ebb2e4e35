from pathlib import Path

import pytest
import yaml

from moonlynx.judge.metrics.definition import (
    DefinitionError,
    MetricDefinition,
    definitions,
    load_definition,
)

from ...cases import cases

NINE = {
    *("answer_relevance", "context_adherence", "context_relevance", "pii", "prompt_injection"),
    *("sexism", "tone", "tool_selection_quality", "toxicity"),
}
OWN = yaml.safe_load(Path(__file__).with_name("refund_promise.yaml").read_text(encoding="utf-8"))
PROMPT = (
    "Does the OUTPUT promise money back?\n{{sections}}\n{{mark}} END\nRespond with {{answers}}."
)


@pytest.fixture
def own(tmp_path):
    (tmp_path / "refund-v1.txt").write_text(PROMPT)

    def write(**changes):
        path = tmp_path / "refund_promise.yaml"
        path.write_text(yaml.safe_dump(OWN | changes, sort_keys=False))
        return path

    return write


def test_nine_metrics_ship_and_ones_own_is_read_with_the_prompt_beside_it(own):
    assert set(definitions()) == NINE
    kinds = {name: load_definition(name).kind for name in NINE}
    assert kinds.pop("tone") == "multi-class"
    assert kinds.pop("pii") == "multi-label"
    assert set(kinds.values()) == {"boolean"}
    assert len(load_definition("tone").classes) == 9
    definition = load_definition(own())
    assert definition.template == PROMPT
    assert load_definition(own(prompt="toxicity-v1")).template.startswith("Check whether")


@pytest.mark.parametrize("name", sorted(NINE))
def test_a_definition_survives_json_with_its_prompt(name):
    definition = load_definition(name)
    assert definition.name == name
    assert definition.prompt == f"{name.replace('_', '-')}-v1"
    assert "{{sections}}" in definition.template
    assert MetricDefinition.model_validate_json(definition.model_dump_json()) == definition


# JSON has no key that is no string.
NO_STRING = ({"classes": {True: "true", False: "false"}}, 'put true in quotes, as in "true"')
BAD = [*cases(__file__, "bad_definitions"), NO_STRING]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_what_is_wrong_with_a_definition_is_named(own, changes, message):
    with pytest.raises(DefinitionError, match=r"refund_promise\.yaml: ") as caught:
        load_definition(own(**changes))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (PROMPT.replace("{{answers}}", "yes"), "its text lacks the field {{answers}}"),
        (PROMPT + "{{input}}", "its text has the field input"),
    ],
)
def test_a_prompt_without_its_fields_is_refused(own, tmp_path, prompt, message):
    path = own()
    (tmp_path / "refund-v1.txt").write_text(prompt)
    with pytest.raises(DefinitionError) as caught:
        load_definition(path)
    assert message in str(caught.value)


def test_an_unknown_metric_is_refused_by_name(tmp_path):
    with pytest.raises(DefinitionError, match="no metric is called 'politeness'; known: answer"):
        load_definition("politeness")
    with pytest.raises(DefinitionError, match="cannot read"):
        load_definition(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    with pytest.raises(DefinitionError, match="is not YAML"):
        load_definition(broken)


def test_what_holds_is_decided_by_kind_and_threshold():
    toxicity, tone, pii = map(load_definition, ("toxicity", "tone", "pii"))
    assert toxicity.decide({"true": 0.5, "false": 0.5}) == {"true"}
    assert toxicity.decide({"true": 0.5, "false": 0.5}, {"true": 0.6}) == {"false"}
    tones = dict.fromkeys(tone.classes, 0.1) | {"anger": 0.2}
    assert tone.decide(tones) == {"anger"}
    first, second, *_ = pii.classes
    kinds = dict.fromkeys(pii.classes, 0.1) | {first: 0.9, second: 0.4}
    assert pii.decide(kinds) == {first}
    assert pii.decide(kinds, {second: 0.3}) == {first, second}
    assert pii.decide(dict.fromkeys(pii.classes, 0.1)) == frozenset()
