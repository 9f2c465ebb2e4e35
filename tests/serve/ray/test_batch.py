import os
import signal
import sys

import pytest
from pyarrow.parquet import read_table

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.spec import JudgeSpec, SpecError
from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.files.atomic import InUse, held
from moonlynx.serve.ray.batch import Workers, judge_on_ray

from ...waiting import until
from .nodes import cluster, ended, judging, manifest, processes
from .rows import on_one_machine, write_rows

SLOW = "token-similarity?metric=rouge"  # so that there is time to kill
UNSCORED = 3

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, of its packages and at its end


@pytest.fixture(scope="module")
def running():
    with cluster(workers=2) as (running, _):
        yield running


@pytest.mark.heavy
@pytest.mark.enable_socket
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_cluster_writes_the_bytes_of_one_machine(tmp_path, running, kind):
    source = write_rows(tmp_path / f"rows.{kind}", 120)
    output = tmp_path / "verdicts.jsonl"
    options = ("--engine", "ray?partition-rows=16&batch-tokens=300", "--judge", "token-similarity")
    process = judging(source, output, *options, address=running.address)
    assert "120 rows" in ended(process, UNSCORED)
    assert output.read_bytes() == on_one_machine(source, tmp_path / "alone.jsonl")
    assert sorted(one["partition"] for one in manifest(output)) == list(range(8))


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_two_runs_at_once_are_refused(tmp_path, prefix):
    source, output = write_rows(tmp_path / "rows.jsonl", 20), tmp_path / "verdicts.jsonl"
    with held(output), pytest.raises(InUse, match="is being written by process"):
        judge_on_ray(JudgeSpec("token-similarity"), str(source), f"{prefix}{output}", {})


@pytest.mark.slow
@pytest.mark.enable_socket
def test_a_killed_worker_and_a_killed_node_cost_no_row(tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", 400)
    output = tmp_path / "verdicts.jsonl"
    with cluster(workers=3) as (running, nodes):
        options = ("--engine", "ray?partition-rows=10&workers=3", "--judge", SLOW)
        process = judging(source, output, *options, address=running.address)
        until(lambda: len(manifest(output)) >= 2 or process.poll() is not None)
        os.kill(until(lambda: processes("PartitionJudge"))[0], signal.SIGKILL)
        done = len(manifest(output))
        until(lambda: len(manifest(output)) > done + 2 or process.poll() is not None)
        running.remove_node(nodes[0], allow_graceful=False)
        at_the_end = len(manifest(output))
        ended(process, UNSCORED)
    assert at_the_end < 40
    assert output.read_bytes() == on_one_machine(source, tmp_path / "alone.jsonl", SLOW)


@pytest.mark.slow
@pytest.mark.enable_socket
def test_a_run_that_was_killed_goes_on_with_what_is_missing(tmp_path, running):
    source = write_rows(tmp_path / "rows.jsonl", 200)
    output = tmp_path / "verdicts.parquet"
    options = ("--engine", "ray?partition-rows=10&workers=1", "--judge", SLOW)
    process = judging(source, output, *options, address=running.address)
    until(lambda: len(manifest(output)) >= 2)
    process.kill()
    process.communicate()
    before = manifest(output)
    assert len(before) < 20
    assert not output.exists()
    folder = output.with_name(f"{output.name}.parts")
    times = {one["file"]: (folder / one["file"]).stat().st_mtime_ns for one in before}
    ended(judging(source, output, *options, address=running.address), UNSCORED)
    assert {name: (folder / name).stat().st_mtime_ns for name in times} == times
    verdicts = "".join(line + "\n" for line in read_table(output).to_pydict()["verdict"])
    assert verdicts.encode() == on_one_machine(source, tmp_path / "alone.jsonl", SLOW)


@pytest.mark.slow
@pytest.mark.enable_socket
def test_what_cannot_go_on_is_a_message(tmp_path, running):
    source = write_rows(tmp_path / "rows.jsonl", 20)
    output = tmp_path / "verdicts.jsonl"

    def message(judge, address=running.address):
        process = judging(source, output, "--engine", "ray", "--judge", judge, address=address)
        said = ended(process, 2)
        assert "Traceback" not in said
        return said.splitlines()[-1]

    said = message("token-similarity?calibration=nowhere.json")
    assert said.startswith("error: a worker cannot load the judge: ")
    output.write_text("{}\n")
    assert "choose another --output" in message("token-similarity")
    assert "no Ray cluster answers" in message("token-similarity", "127.0.0.1:1")


def test_options_are_read_or_refused():
    options = {"workers": "4", "gpus": "0.5", "partition-rows": "10", "batch-tokens": "99"}
    assert Workers.read(options) == Workers(4, 0.5, 10, 99)
    with pytest.raises(SpecError, match="has no option 'worker'"):
        Workers.read({"worker": "4"})
    with pytest.raises(BadInput, match=r"\.jsonl or \.parquet"):
        judge_on_ray(JudgeSpec("luna"), "rows.jsonl", "verdicts.csv", {})


@pytest.mark.parametrize("package", ["ray", "fsspec.core"])
def test_a_missing_package_is_named(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    source = write_rows(tmp_path / "rows.jsonl", 5)
    with pytest.raises(MissingExtra, match=r"pip install 'moonlynx\[ray\]'"):
        judge_on_ray(JudgeSpec("luna"), str(source), str(tmp_path / "verdicts.jsonl"), {})
