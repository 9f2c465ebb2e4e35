import json

import pytest
from typer.testing import CliRunner

from moonlynx.recipes.data.questions import app
from moonlynx.recipes.data.rag_qa import RagQuestion

from ...labelled_data import DATA, needs_data


@pytest.mark.heavy  # it reads whole sets
@needs_data
def test_questions_are_of_three_forms_and_the_same_for_the_same_seed(tmp_path):
    written = []
    for name in ("first.jsonl", "again.jsonl"):
        command = ["--data", str(DATA), "--output", str(tmp_path / name), "--count", "36"]
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        written.append((tmp_path / name).read_text(encoding="utf-8"))
    assert written[0] == written[1]
    rows = [RagQuestion.model_validate(json.loads(line)) for line in written[0].splitlines()]
    assert len({row.id for row in rows}) == 36
    forms = [row.source.partition(":")[0] for row in rows]
    assert forms == ["asked", "summary", "overview"] * 12
    assert len({row.question for row in rows}) > 20
    for row in rows:
        assert 200 <= sum(map(len, row.context)) <= 3_000 or row.source == "overview:synthetic"
