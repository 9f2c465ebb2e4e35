import json

import jsonschema
import pytest

from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.batch.chat_tasks import Fault, hash_rows
from moonlynx.judge.files.journal import RunMismatch
from moonlynx.judge.metrics.definition import DefinitionError, load_definition
from moonlynx.recipes.luna2.data import read_rows
from moonlynx.recipes.luna2.data.rows import DraftRow
from moonlynx.recipes.luna2.label_by_model.__main__ import app
from moonlynx.recipes.luna2.label_by_model.label import Done, RunInfo, run_task
from moonlynx.recipes.luna2.label_by_model.questions import LABEL, Label, Rewrite, vote

from ...cases import cases, write_lines
from ...command import moonlynx, succeed

TOXICITY, PII, RELEVANCE = map(load_definition, ("toxicity", "pii", "context_relevance"))
ROWS = [
    DraftRow(id=f"r{n}", input="", output=text, group=f"g{n}", source="made")
    for n, text in enumerate(("You are a fool.", "Good morning.", "Go away, idiot.", "It rains."))
]


def said(*labels):
    return json.dumps({"reasoning": "r", "labels": list(labels)})


def rude(request):
    """Answer as a model would that knows two words."""
    prompt = request.messages[-1].content
    section = prompt.rsplit("OUTPUT\n", 1)[1]
    return said("true" if "fool" in section or "idiot" in section else "false")


def info(rows, *models, task=LABEL):
    return RunInfo(input_sha256=hash_rows(rows), metric="toxicity", task=task, models=models)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_request_is_the_metrics_prompt_with_room_for_reasoning_before_the_label():
    request = Label(TOXICITY).request(ROWS[0])
    text = request.messages[-1].content
    assert text.startswith("Check whether the text is toxic")
    assert "You are a fool." in text
    assert "and nothing else" not in text
    assert list(request.schema["properties"]) == ["reasoning", "labels"]
    jsonschema.Draft202012Validator.check_schema(request.schema)
    for good in (said("true"), said("false")):
        jsonschema.validate(json.loads(good), request.schema)
    for bad in (said(), said("true", "false"), said("maybe")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(json.loads(bad), request.schema)
    many = Label(PII).request(ROWS[0])
    jsonschema.validate(json.loads(said("person", "email")), many.schema)
    jsonschema.validate(json.loads(said()), many.schema)
    one = TOXICITY.model_copy(update={"template": "{{mark}} {{sections}} Say {{answers}}."})
    with pytest.raises(DefinitionError, match="paragraph of its own"):
        Label(one).request(ROWS[0])


@pytest.mark.parametrize(("text", "message"), cases(__file__, "no_labels"))
def test_a_reply_that_is_no_label_says_why(text, message):
    fault = Label(TOXICITY).read(ROWS[0], text)
    assert isinstance(fault, Fault)
    assert message in fault.message


def test_most_models_decide_and_a_tie_settles_nothing():
    yes, no = frozenset({"true"}), frozenset({"false"})
    fault = Fault(reason="refused", message="no")
    assert vote(TOXICITY, [yes, no, yes]) == (yes, {"true": 2, "false": 1})
    assert vote(TOXICITY, [yes, no]).reason == "contradictory"
    assert vote(TOXICITY, [yes, fault, yes])[0] == yes
    assert vote(TOXICITY, [yes, fault]).reason == "refused"
    both, one = frozenset({"person", "email"}), frozenset({"person"})
    assert vote(PII, [both, one, one])[0] == one
    assert vote(PII, [frozenset()] * 3)[0] == frozenset()
    assert vote(PII, [both, one]).reason == "contradictory"


def test_rows_are_labelled_by_the_vote_and_dropped_where_models_disagree(tmp_path):
    output = tmp_path / "rows.jsonl"
    models = [FakeBackend(rude), FakeBackend(rude), FakeBackend(lambda _: said("false"))]
    tally = run_task(Label(TOXICITY), ROWS, models, info(ROWS, "a", "b", "c"), output)
    assert (tally.made, tally.dropped.total()) == ({"made": 4}, 0)
    assert [used.calls for used in tally.usage.values()] == [4, 4, 4]
    assert lines(output)[0]["votes"] == {"true": 2, "false": 1}
    read = read_rows(output, TOXICITY)
    assert [sorted(row.labels) for row in read] == [["true"], ["false"], ["true"], ["false"]]
    assert [row.group for row in read] == ["g0", "g1", "g2", "g3"]
    output = tmp_path / "two.jsonl"
    models = [FakeBackend(rude), FakeBackend(lambda _: said("false"))]
    tally = run_task(Label(TOXICITY), ROWS, models, info(ROWS, "a", "b"), output)
    assert (tally.made, tally.dropped) == ({"made": 2}, {"contradictory": 2})
    own = [row.model_copy(update={"labels": ("true",)}) for row in ROWS]
    again = tmp_path / "confirmed.jsonl"
    task = Label(TOXICITY, confirm=True)
    tally = run_task(task, own, [FakeBackend(rude)], info(own, "a"), again)
    assert [row["id"] for row in lines(again)] == ["r0", "r2"]
    dropped = lines(tmp_path / "confirmed.jsonl.dropped.jsonl")
    assert dropped[0]["error"]["message"] == "the row says true, the vote false"


def test_an_interrupted_run_goes_on_and_ends_the_same(tmp_path):
    output = tmp_path / "rows.jsonl"
    run, models = info(ROWS, "a"), [FakeBackend(rude)]
    run_task(Label(TOXICITY), ROWS, models, run, output)
    whole = output.read_bytes()
    output.write_bytes(whole[: len(whole) // 2])
    asked = []
    counting = FakeBackend(lambda request: asked.append(1) or rude(request))
    run_task(Label(TOXICITY), ROWS, [counting], run, output)
    assert output.read_bytes() == whole
    assert len(asked) == 3  # of four: one whole line was there
    assert Done(output).read().tally.made == {"made": 4}
    with pytest.raises(RunMismatch, match="another models"):
        run_task(Label(TOXICITY), ROWS, models, info(ROWS, "b"), output)


def test_a_row_is_rewritten_to_fit_its_label(tmp_path):
    row = DraftRow(input="Who?", output="", context=("One.", "Two."), labels=("false",), group="g")
    request = Rewrite(RELEVANCE).request(row)
    assert request.temperature == 1
    assert "beyond doubt false" in request.messages[-1].content
    assert list(request.schema["properties"]) == ["reasoning", "input", "context"]
    good = {"reasoning": "r", "input": "Where?", "context": ["A tower.", "A hill."]}
    jsonschema.validate(good, request.schema)
    output = tmp_path / "new.jsonl"
    run = info([row], "a", task="luna2/rewrite-v1")
    run_task(Rewrite(RELEVANCE), [row], [FakeBackend([json.dumps(good)])], run, output)
    (made,) = read_rows(output, RELEVANCE)
    assert (made.input.input, made.input.context) == ("Where?", ("A tower.", "A hill."))
    assert (made.labels, made.group) == (frozenset({"false"}), "g")


@pytest.mark.parametrize(("fields", "message"), cases(__file__, "not_rewritten"))
def test_a_reply_that_rewrites_nothing_or_not_all_is_refused(fields, message):
    row = DraftRow(input="Who?", output="", context=("One.", "Two."), labels=("true",))
    assert message in Rewrite(RELEVANCE).read(row, json.dumps(fields)).message


def test_the_command_estimates_labels_and_names_what_it_cost(tmp_path):
    rows = write_lines(tmp_path / "in.jsonl", *ROWS)
    replies = {"match": "fool", "text": said("true")}, {"text": said("false")}
    script = write_lines(tmp_path / "script.jsonl", *replies)
    output = tmp_path / "out.jsonl"
    command = ["label", "toxicity", "--input", rows, "--output", output, "--model"]
    command += [f"@fake?script={script}", "--price", "1,2"]
    assert "4 calls of model 1" in succeed(*command, "--dry-run", app=app)
    assert not output.exists()
    assert "4 rows: 4 made, 0 dropped" in succeed(*command, app=app)
    assert [row["labels"] for row in lines(output)] == [["true"], ["false"], ["false"], ["false"]]
    bare = ["rewrite", "toxicity", "--input", rows, "--output", output, "--model", "@fake"]
    refused = moonlynx(*bare, app=app)
    assert "is rewritten to fit its labels" in str(refused.exception)
