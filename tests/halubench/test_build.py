import json
from collections import Counter

import pytest

from moonlynx.halubench.build import BuildError
from moonlynx.halubench.halves import RulePerturber
from moonlynx.halubench.manifest import read_manifest
from moonlynx.halubench.overlap import runs
from moonlynx.halubench.records import read_rows
from moonlynx.halubench.sources import SourceError
from moonlynx.judge.contract.types import BadInput, MoonlynxError
from moonlynx.judge.files.journal import RunMismatch
from moonlynx.judge.files.stored import sha256_file
from moonlynx.judge.rows.examples import read_rows as read_examples

from .made_data import ROWS
from .made_data import build_set as run


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_hundredth_has_the_papers_composition_as_its_manifest_says(built):
    found = Counter((row.source, row.label) for row in read_rows(built / "test.jsonl"))
    halueval = found.pop(("halueval", "PASS")) + found.pop(("halueval", "FAIL"))
    assert halueval == 100
    assert found == {
        **{(name, label): 5 for name in ("FinanceBench", "DROP", "covidQA", "pubmedQA")
           for label in ("PASS", "FAIL")},
        ("RAGTruth", "PASS"): 7,
        ("RAGTruth", "FAIL"): 2,
    }  # fmt: skip
    assert all(part.missing is None for each in read_manifest(built).sources for part in each.parts)
    manifest = read_manifest(built)
    assert {*manifest.outputs, "manifest.json"} == {path.name for path in built.iterdir()}
    for name, output in manifest.outputs.items():
        assert output.sha256 == sha256_file(built / name)
    made = [row for row in read_rows(built / "test.jsonl") if row.gold is not None]
    assert manifest.kinds == Counter(row.kind for row in made)
    assert len(made) == 20


def test_a_judge_reads_the_rows_and_excerpts_take_the_place_of_long_contexts(built, data, tmp_path):
    for name in ("test.jsonl", "test.parquet"):
        rows = list(read_examples(built / name))
        assert len(rows) == ROWS
        assert not any(isinstance(row.example, BadInput) for row in rows)
        assert {row.example.label for row in rows} == {"PASS", "FAIL"}
    run(data, tmp_path / "excerpts", contexts="excerpt")
    whole = {row.id: row for row in read_rows(built / "test.jsonl")}
    for row in read_rows(tmp_path / "excerpts" / "test.jsonl"):
        assert row.answer == whole[row.id].answer
        assert row.excerpt is None
        assert row.context == (whole[row.id].excerpt or whole[row.id].context)


def test_the_same_command_gives_the_same_files_and_another_seed_others(built, data, tmp_path):
    run(data, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(built)
    run(data, tmp_path / "other", seed=1)
    assert sha256_file(tmp_path / "other" / "test.jsonl") != sha256_file(built / "test.jsonl")


def test_a_build_that_was_stopped_is_finished_and_a_whole_one_left_alone(built, data):
    whole = contents(built)
    (built / "manifest.json").unlink()
    (built / "test.jsonl").write_bytes(whole["test.jsonl"][:1000])
    (built / "test.parquet").unlink()
    (built / "test.jsonl.part").write_bytes(b"half a line")
    run(data, built)
    assert contents(built) == whole
    before = (built / "test.jsonl").stat().st_mtime_ns
    run(data, built)
    assert (built / "test.jsonl").stat().st_mtime_ns == before
    (built / "test.jsonl").write_text("changed\n")
    run(data, built)
    assert len(read_rows(built / "test.jsonl")) == ROWS


def test_another_builds_folder_is_not_overwritten(built, data):
    with pytest.raises(RunMismatch, match=r"another seed \(0, now 7\); delete "):
        run(data, built, seed=7)
    (built / "manifest.json").write_text("{}")
    with pytest.raises(RunMismatch, match=r"has a manifest\.json that is none of this version"):
        run(data, built)


def test_an_api_that_goes_down_leaves_no_half_build(built, data, tmp_path):
    class GoesDown(RulePerturber):
        def __call__(self, rows):
            if rows[0].source == "pubmedQA":
                raise MoonlynxError("the endpoint is down")
            return super().__call__(rows)

    output = tmp_path / "down"
    with pytest.raises(MoonlynxError, match="the endpoint is down"):
        run(data, output, perturber=GoesDown(0))
    assert not (output / "manifest.json").exists()
    run(data, output)
    assert contents(output) == contents(built)


def test_a_full_disk_is_named_and_the_build_can_go_on(built, data, tmp_path):
    output = tmp_path / "full"
    output.mkdir()
    (output / "test.jsonl.part").symlink_to("/dev/full")
    with pytest.raises(BuildError, match=r"cannot be written \(No space left.*make room"):
        run(data, output)
    assert not (output / "manifest.json").exists()
    (output / "test.jsonl.part").unlink()
    run(data, output)
    assert contents(output) == contents(built)


def test_folders_that_cannot_be_used_or_hold_no_source_are_refused(data, tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(
        BuildError, match=r"--output .*out: cannot be used \(Not a dir.*choose another"
    ):
        run(data, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"
    with pytest.raises(BuildError, match="none of the sources FinanceBench, DROP,"):
        run(tmp_path, tmp_path / "new")


def test_what_is_missing_is_said_with_the_reason(data, tmp_path):
    part = tmp_path / "part"
    part.mkdir()
    for name in ("financebench", "pubmedqa", "covid_qa", "ragtruth_test", "halueval"):
        (part / name).symlink_to(data / name)
    manifest = run(part, tmp_path / "out", rows=298)
    missing = {each.source: each.parts[0].missing for each in manifest.sources}
    assert missing["pubmedQA"] is missing["covidQA"] is None
    assert missing["DROP"].startswith("drop/drop_dataset_dev.json (or ")
    assert missing["FinanceBench"].startswith("there are 12 rows of FinanceBench to draw from")
    assert "9 of 15 PASS and 3 of 3 FAIL rows were found" in missing["RAGTruth"]
    finance = manifest.sources[0].parts[0]
    assert (finance.wanted, finance.rows, finance.fails) == (20, 12, 6)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "DROP, test: built 0 of 20, missing because drop/drop_dataset_dev.json" in card


def test_a_wrong_hash_stops_the_build(made_data, tmp_path):
    with pytest.raises(SourceError, match=r"SHA-256 .* was expected.* fetch it again"):
        run(made_data, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_training_rows_share_nothing_with_test_rows_or_each_other(built, data, tmp_path):
    manifest = run(data, tmp_path / "train", [built / "test.jsonl"], split="train", rows=64)
    parts = {name: read_rows(tmp_path / "train" / f"{name}.jsonl") for name in
             ("train", "validation")}  # fmt: skip
    assert {row.source for row in parts["train"]} == {"RAGTruth", "DROP", "covidQA", "pubmedQA"}
    groups = {name: {row.group for row in rows} for name, rows in parts.items()}
    assert not groups["train"] & groups["validation"]
    tested = runs(text for row in read_rows(built / "test.jsonl") for text in row.context)
    for row in (*parts["train"], *parts["validation"]):
        assert not tested & runs((*row.context, row.question, row.answer))
        assert row.provenance.file != "ragtruth_test/ragtruth_test.jsonl"
    left_out = {each.source: each.left_out for each in manifest.sources}
    assert left_out["covidQA"]["share 13 words in a row with a test row"] > 0
    assert list(manifest.plan.against) == ["built/test.jsonl"]


def test_ragtruth_plus_is_the_training_set_and_more_rows_of_ragtruth(built, data, tmp_path):
    against = [built / "test.jsonl"]
    names = {"plain": 0, "plus": 10, "all": 2_000}
    manifests = {
        name: run(data, tmp_path / name, against, split="train", rows=64, more_ragtruth=more)
        for name, more in names.items()
    }
    train, validation = (
        {name: {row.id: row for row in read_rows(tmp_path / name / part)} for name in names}
        for part in ("train.jsonl", "validation.jsonl")
    )
    assert validation["plain"] == validation["plus"] == validation["all"]
    assert train["plain"].items() < train["plus"].items()
    added = [row for id_, row in train["plus"].items() if id_ not in train["plain"]]
    assert [row.source for row in added] == ["RAGTruth"] * 10
    assert {row.label for row in added} == {"PASS", "FAIL"}
    assert not {row.group for row in added} & {row.group for row in validation["plus"].values()}
    part = manifests["plus"].sources[-1].parts[0]
    assert (part.wanted, part.rows, part.wanted_fails, part.missing) == (22, 22, None, None)
    lacking = manifests["all"].sources[-1].parts[0]
    assert lacking.wanted == 2_012 > lacking.rows > 22
    assert lacking.missing.startswith("there are ")
    assert "of 0 FAIL" not in lacking.missing


def test_a_training_set_needs_test_rows_to_keep_away_from(data, tmp_path):
    with pytest.raises(BuildError, match="--against: a training set must not share text"):
        run(data, tmp_path / "out", split="train")
    broken = tmp_path / "rows.jsonl"
    broken.write_text(json.dumps({"context": "", "answer": "x"}) + "\n")
    with pytest.raises(BuildError, match=r"--against .*rows.jsonl: line 1, context: holds no text"):
        run(data, tmp_path / "out", [broken], split="train")


@pytest.mark.heavy
def test_datasets_loads_the_folder_by_its_card(built, tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = datasets.load_dataset(str(built), split="test", cache_dir=str(tmp_path / "cache"))
    assert len(rows) == ROWS
    first = read_rows(built / "test.jsonl")[0]
    assert rows[0]["id"] == first.id
    assert rows[0]["context"] == list(first.context)
    assert rows[0]["provenance"]["sha256"] == first.provenance.sha256
