import json

import pytest

from moonlynx.judge.contract.types import BadInput, MoonlynxError

from ...command import moonlynx

JUDGE = "token-similarity"


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "bridge.md").write_text("The bridge opened in 1932. It is 90 m long.")
    (folder / "sub" / "prices.csv").write_text("name,price\nkettle,30\ntoaster,45\n")
    return folder


@pytest.fixture
def index(docs, tmp_path):
    assert moonlynx("index", docs, tmp_path / "index").exit_code == 0
    return tmp_path / "index"


def judge(index, *arguments, stdin=""):
    return moonlynx("judge", "--judge", JUDGE, "--index", index, *arguments, input=stdin)


def test_an_index_is_built_added_to_and_pruned(docs, tmp_path):
    out = tmp_path / "index"
    assert moonlynx("index", docs, out).stdout == "2 added, 0 updated, 0 kept, 0 removed\n"
    (docs / "bridge.md").write_text("The bridge opened in 1950.")
    assert moonlynx("index", docs, out).stdout == "0 added, 1 updated, 1 kept, 0 removed\n"
    one = docs / "sub"
    assert (
        moonlynx("index", one, out, "--prune").stdout == "1 added, 0 updated, 0 kept, 2 removed\n"
    )


def test_rows_omit_their_context_or_name_documents(index):
    rows = [
        {"id": 1, "answer": "The bridge opened in 1932."},
        {"id": 2, "answer": "The toaster costs 45.", "documents": ["sub/prices.csv"]},
        {"id": 3, "answer": "The bridge opened in 1932.", "context": "sub/prices.csv"},
        {"id": 4, "answer": "The bridge opened in 1932.", "context": "nothing.csv"},
    ]
    result = judge(index, "--format", "json", stdin="\n".join(map(json.dumps, rows)))
    verdicts = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["score"] for one in verdicts] == ["PASS", "PASS", "FAIL", None]
    assert "has no document nothing.csv; it has 2 others" in verdicts[3]["error"]["message"]
    assert result.exit_code == 3


def test_one_answer_needs_no_context_and_its_evidence_is_shown(index):
    shown = judge(index, "--answer", "The bridge is 90 m long.", "--format", "rich")
    assert "[document 1] It is 90 m long." in shown.stdout
    named = judge(index, "--answer", "It is 90 m long.", "--context", "bridge.md")
    assert json.loads(named.stdout)["score"] == "PASS"


def test_a_table_of_answers_alone_is_judged(index, tmp_path):
    (tmp_path / "answers.csv").write_text("id,answer\na,The bridge opened in 1932.\n")
    output = tmp_path / "verdicts.jsonl"
    result = judge(index, "--input", tmp_path / "answers.csv", "--output", output)
    assert result.exit_code == 0
    assert json.loads(output.read_text())["score"] == "PASS"


def test_an_output_is_not_resumed_with_another_index(docs, index, tmp_path):
    rows, output = tmp_path / "rows.jsonl", tmp_path / "verdicts.jsonl"
    rows.write_text('{"answer": "The bridge opened in 1932."}\n')
    assert judge(index, "--input", rows, "--output", output).exit_code == 0
    (docs / "new.md").write_text("Another.")
    moonlynx("index", docs, index)
    result = judge(index, "--input", rows, "--output", output)
    assert isinstance(result.exception, MoonlynxError)
    assert "another judge version" in str(result.exception)


def test_without_an_index_a_row_still_needs_its_context():
    result = moonlynx("judge", "--judge", JUDGE, "--format", "json", input='{"answer": "It is."}')
    assert json.loads(result.stdout)["error"]["message"].startswith("line 1, context: is missing")
    result = moonlynx("judge", "--judge", JUDGE, "--index", "nowhere", "--answer", "It is.")
    assert isinstance(result.exception, MoonlynxError)
    assert not isinstance(result.exception, BadInput)
    assert "cannot read nowhere/index.json" in str(result.exception)
