import json
import os
import random

import pytest

from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.batch.judging import judge_rows, read_timings, read_verdicts
from moonlynx.judge.contract.base import unscored
from moonlynx.judge.contract.types import BadInput, JudgeInfo
from moonlynx.judge.decision.abstention import Abstaining
from moonlynx.judge.decision.calibration import Calibrated
from moonlynx.judge.decision.cascade import Cascade
from moonlynx.judge.files.atomic import InUse
from moonlynx.judge.files.journal import RunMismatch
from moonlynx.judge.judges.common_knowledge import LettingPass
from moonlynx.judge.judges.detectors.token_similarity import TokenSimilarity
from moonlynx.judge.judges.lynx import LynxJudge
from moonlynx.judge.judges.rules import RuleTier
from moonlynx.judge.judges.screen import Screened
from moonlynx.judge.rows.examples import read_rows

from ...fitting import fit

RUN = {"input_sha256": "0" * 64}


def make_input(path, rows):
    words = "amber basin cedar delta ember fjord grove haven islet jetty".split()  # noqa: SIM905
    choose = random.Random(7)
    with path.open("w") as file:
        for number in range(rows):
            if number % 50 == 13:
                file.write('{"id": "broken"\n')
                continue
            context = " ".join(choose.choices(words[:7], k=30)) + "."
            answer = ". ".join(" ".join(choose.choices(words, k=6)) for _ in range(4)) + "."
            file.write(json.dumps({"id": number, "context": context, "answer": answer}) + "\n")
    return path


@pytest.fixture
def path(tmp_path):
    return make_input(tmp_path / "in.jsonl", 20)


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out.jsonl"


def run(path, output, **options):
    return judge_rows(TokenSimilarity(), read_rows(path), output, run=RUN, **options)


def test_one_verdict_a_row_in_order_with_bad_rows_in_their_places(tmp_path):
    tally = run(make_input(tmp_path / "in.jsonl", 60), tmp_path / "out.jsonl", batch_size=7)
    verdicts = list(read_verdicts(tmp_path / "out.jsonl"))
    assert [v.id for v in verdicts] == [None if n % 50 == 13 else n for n in range(60)]
    assert verdicts[13].error is not None
    assert verdicts[13].error.message.startswith("line 14, row: is not a JSON object")
    assert tally.rows == 60
    assert tally.unscored == {"bad_input": 1}
    assert tally.passed + tally.failed == 59


@pytest.mark.parametrize("batch_size", [1, 16, 1000])
def test_the_file_does_not_depend_on_the_batch_size(tmp_path, batch_size):
    path = make_input(tmp_path / "in.jsonl", 60)
    run(path, tmp_path / "all.jsonl", batch_size=60)
    run(path, tmp_path / "out.jsonl", batch_size=batch_size)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()


def test_a_finished_run_is_not_judged_again(path, output):
    class Refuses(TokenSimilarity):
        def __call__(self, examples):
            raise AssertionError("judged again")

    first = run(path, output)
    assert judge_rows(Refuses(), read_rows(path), output, run=RUN) == first


def test_runs_are_never_mixed(path, output):
    run(path, output)
    before = output.read_bytes()
    with pytest.raises(RunMismatch, match="another input sha256"):
        judge_rows(TokenSimilarity(), read_rows(path), output, run={"input_sha256": "1" * 64})
    with pytest.raises(RunMismatch, match="another judge version"):
        judge_rows(TokenSimilarity("rouge"), read_rows(path), output, run=RUN)
    output.with_name("out.jsonl.run.json").unlink()
    with pytest.raises(RunMismatch, match=r"not written by this command: no out\.jsonl\.run\.json"):
        run(path, output)
    assert output.read_bytes() == before


@pytest.mark.parametrize(
    "using",
    [
        lambda calibrated: calibrated,
        RuleTier,
        lambda calibrated: Cascade([Abstaining(calibrated, 0.7), TokenSimilarity()]),
        lambda calibrated: RuleTier(Cascade([Abstaining(calibrated, 0.7), TokenSimilarity()])),
    ],
    ids=["alone", "rules", "cascade", "rules before a cascade"],
)
def test_verdicts_by_two_calibrations_are_never_mixed(path, output, using):
    judge = TokenSimilarity()
    scores = [0.1, 0.4, 0.5, 0.9] * 25
    first = fit(judge.info, scores, ["PASS", "PASS", "FAIL", "FAIL"] * 25, "temperature")
    second = fit(judge.info, scores, ["PASS", "FAIL", "PASS", "FAIL"] * 25, "temperature")
    judge_rows(using(Calibrated(judge, first)), read_rows(path), output, run=RUN)
    before = output.read_bytes()
    with pytest.raises(RunMismatch, match="another calibration sha256"):
        judge_rows(using(Calibrated(judge, second)), read_rows(path), output, run=RUN)
    judge_rows(using(Calibrated(judge, first)), read_rows(path), output, run=RUN)
    assert output.read_bytes() == before


def lynx(backend):
    return LynxJudge(backend, model="/models/mine@transformers")


def words_first(backend):
    judge = TokenSimilarity()
    labels = ["PASS", "PASS", "FAIL", "FAIL"] * 25
    calibration = fit(judge.info, [0.1, 0.4, 0.5, 0.9] * 25, labels, "temperature")
    return Cascade([Abstaining(Calibrated(judge, calibration), 0.7), lynx(backend)])


@pytest.mark.parametrize(
    "using",
    [
        lynx,
        lambda backend: Screened(lynx(backend)),
        lambda backend: RuleTier(lynx(backend)),
        words_first,
        lambda backend: LettingPass(TokenSimilarity(), backend),
    ],
    ids=["alone", "screened", "rules", "cascade", "asked after another judge"],
)
def test_verdicts_by_two_models_of_one_name_are_never_mixed(path, output, using):
    def judge(weights):
        backend = FakeBackend(lambda _: '{"REASONING": ["It says so."], "SCORE": "PASS"}')
        backend.weights = weights
        return using(backend)

    judge_rows(judge("a1"), read_rows(path), output, run=RUN)
    before = output.read_bytes()
    with pytest.raises(RunMismatch, match=r"another weights sha256 \('a1', now 'b2'\)"):
        judge_rows(judge("b2"), read_rows(path), output, run=RUN)
    judge_rows(judge("a1"), read_rows(path), output, run=RUN)
    assert output.read_bytes() == before


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda lines: [*lines, lines[-1]], "holds more than the 20 rows of the input"),
        (lambda lines: [*lines[:4], lines[5], lines[4]], "in line 5, a verdict on row 5 where row"),
        (lambda lines: lines[1:9], "in line 1, a verdict on row 1 where row 0 belongs"),
        (lambda lines: [lines[0], *lines[:5]], "in line 2, a verdict on row 0 where row 1 belongs"),
        (lambda lines: [*lines[:3], lines[3][:40] + b"\n", *lines[4:]], "line 4 is no Verdict"),
        (lambda lines: [*lines[:3], b"\n", *lines[3:]], "line 4 is no Verdict"),
        (lambda lines: [b"".join(lines)[:-1].replace(b"\n", b"") + b"\n"], "line 1 is no Verdict"),
    ],
    ids=["too many", "swapped", "first lost", "doubled", "broken", "blank", "joined"],
)
def test_verdicts_that_are_not_those_of_the_rows_are_refused(path, output, damage, says):
    run(path, output)
    output.write_bytes(b"".join(damage(lines_of(output))))
    before = output.read_bytes()
    with pytest.raises(RunMismatch, match=says):
        run(path, output)
    assert output.read_bytes() == before


def test_two_runs_at_once_are_refused(tmp_path, path, output):
    times = tmp_path / "t.jsonl"

    class Meets(TokenSimilarity):
        def __call__(self, examples):
            for other in (output, tmp_path / "other.jsonl"):
                with pytest.raises(InUse, match=f"process {os.getpid()} on "):
                    run(path, other, timings=times)
            return super().__call__(examples)

    judge_rows(Meets(), read_rows(path), output, run=RUN, timings=times, batch_size=5)
    assert len(lines_of(output)) == len(lines_of(times)) == 20


def test_a_run_cut_anywhere_has_the_time_of_each_row(tmp_path, path, output):
    times = tmp_path / "t.jsonl"
    run(path, output, timings=times, batch_size=5)
    verdicts, seconds = output.read_bytes(), times.read_bytes()
    for rows in (0, 5, 10):  # killed between the two files, or within a line of the times
        for cut in (0, 1, 30):
            output.write_bytes(b"".join(verdicts.splitlines(keepends=True)[:rows]))
            times.write_bytes(b"".join(seconds.splitlines(keepends=True)[: rows + 5]))
            with times.open("ab") as file:
                file.write(seconds[:cut])
            run(path, output, timings=times, batch_size=5)
            assert output.read_bytes() == verdicts
            assert len(read_timings(times)) == 20
    assert b"seconds" not in verdicts


@pytest.mark.parametrize("text", ["not mine", '{"id": 1}\n', '{"a": 1}'])
def test_times_are_not_appended_to_another_file(tmp_path, path, output, text):
    notes = tmp_path / "notes.txt"
    notes.write_text(text)
    with pytest.raises(RunMismatch, match=r"notes\.txt was not written by this command"):
        run(path, output, timings=notes)
    assert notes.read_text() == text


def test_a_judge_that_returns_too_few_or_too_many_is_caught_and_so_are_no_verdicts(tmp_path):
    class Off:
        info = JudgeInfo(name="off", version="1")

        def __init__(self, by):
            self.by = by

        def __call__(self, examples):
            return [unscored(self.info, None, "backend", "x")] * (len(examples) + self.by)

    path = make_input(tmp_path / "in.jsonl", 5)
    for by in (-1, 1):
        with pytest.raises(RuntimeError, match="verdicts for 5 examples"):
            judge_rows(Off(by), read_rows(path), tmp_path / f"out{by}.jsonl", run=RUN)
    with pytest.raises(BadInput, match="line 1: is not a Verdict"):
        list(read_verdicts(path))
