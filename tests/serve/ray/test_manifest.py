import pytest
from pyarrow.parquet import read_table

from moonlynx.judge.contract.types import Verdict
from moonlynx.judge.files.journal import RunMismatch
from moonlynx.serve.ray.manifest import Manifest, Run

from .rows import on_one_machine, write_rows

RUN = Run(
    input_sha256="0" * 64,
    rows=20,
    partition_rows=10,
    spec="token-similarity",
    judge_name="token-similarity",
    judge_version="1",
)


@pytest.fixture
def parts(tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", 20)
    verdicts = on_one_machine(rows, tmp_path / "alone.jsonl").splitlines(keepends=True)
    return [b"".join(verdicts[:10]), b"".join(verdicts[10:])]


@pytest.fixture
def output(tmp_path):
    return tmp_path / "verdicts.jsonl"


def folder(output):
    return output.with_name(f"{output.name}.parts")


def test_parts_are_joined_in_the_order_of_the_input(output, parts):
    manifest = Manifest(str(output), RUN)
    manifest.add(1, parts[1])
    manifest.add(0, parts[0])
    manifest.join()
    assert output.read_bytes() == b"".join(parts)
    tally = manifest.tally()
    assert (tally.rows, tally.passed + tally.failed + tally.unscored.total()) == (20, 20)
    assert min(tally.passed, tally.failed, tally.unscored.total()) > 0
    assert Manifest(str(output), RUN).tally() == tally


def test_a_parquet_output_holds_the_same_lines(tmp_path, parts):
    output = tmp_path / "verdicts.parquet"
    manifest = Manifest(str(output), RUN)
    for number, lines in enumerate(parts):
        manifest.add(number, lines)
    manifest.join()
    table = read_table(output).to_pydict()
    lines = b"".join(parts).decode().splitlines()
    assert table["verdict"] == lines
    verdicts = [Verdict.model_validate_json(line) for line in lines]
    assert table["score"] == [verdict.score for verdict in verdicts]
    assert table["raw_score"] == [verdict.raw_score for verdict in verdicts]
    assert set(table["error"]) == {None, "bad_input", "empty_answer"}


@pytest.mark.parametrize("harm", ["lost", "cut off", "changed"])
def test_a_harmed_part_counts_as_missing(output, parts, harm):
    manifest = Manifest(str(output), RUN)
    for number, lines in enumerate(parts):
        manifest.add(number, lines)
    part = folder(output) / manifest.done[1].file
    if harm == "lost":
        part.unlink()
    else:
        part.write_bytes(parts[1][:-5] if harm == "cut off" else parts[0])
    assert set(Manifest(str(output), RUN).done) == {0}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spec", "luna"),
        ("partition_rows", 5),
    ],
)
def test_another_run_is_refused(output, parts, field, value):
    Manifest(str(output), RUN).add(0, parts[0])
    with pytest.raises(RunMismatch, match=f"another {field.replace('_', ' ')}"):
        Manifest(str(output), RUN.model_copy(update={field: value}))
    assert set(Manifest(str(output), RUN).done) == {0}


def test_an_output_of_another_command_is_refused(output):
    output.write_text("{}\n")
    with pytest.raises(RunMismatch, match="does not say of which run"):
        Manifest(str(output), RUN)
    assert output.read_text() == "{}\n"
