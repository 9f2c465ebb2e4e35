import json
import re
import socket
import subprocess
import sys

import pytest

from moonlynx.eval.precisions import _file_bytes
from moonlynx.eval.records import Report
from moonlynx.eval.run import verdict_file
from moonlynx.judge.contract.spec import parse_spec
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.registry import load_judge

from ..cases import cases
from ..fitting import fit


@pytest.fixture
def evaluate(command_line, fixtures, tmp_path):
    def call(*arguments, judge="token-similarity", output=tmp_path / "out"):
        path = fixtures / "benchmark.jsonl"
        common = ("--benchmark", path, "--judge", judge, "--output", output, "--resamples", 100)
        return command_line("eval", *common, *arguments)

    return call


def test_eval_writes_verdicts_and_reports(evaluate, tmp_path):
    code, out, _ = evaluate("--judge", "token-similarity?metric=rouge")
    assert code == 0
    folder = tmp_path / "out"
    report = Report.model_validate_json((folder / "report.json").read_text())
    assert [judge.spec for judge in report.judges] == [
        "token-similarity",
        "token-similarity?metric=rouge",
    ]
    for judge in report.judges:
        verdicts = (folder / judge.verdicts.path).read_text().splitlines()
        assert len(verdicts) == 12
        assert json.loads(verdicts[0])["id"] == "h1"
    assert report.micro.systems[0].metrics["auroc"].value > 0.6
    text = (folder / "report.md").read_text()
    assert out.split("\n\nThe whole report")[0] in text
    assert f"--output {folder} --resamples 100" in report.command
    assert report.judges[0].judge.name == "token-similarity"


def test_eval_draws_a_calibrated_judge(evaluate, tmp_path):
    calibration = fit(
        load_judge("token-similarity").info,
        [step / 300 for step in range(300)],
        ["FAIL" if step > 240 else "PASS" for step in range(300)],
        "temperature",
    )
    save_record(calibration, tmp_path / "calibration.json")
    spec = f"token-similarity?calibration={tmp_path / 'calibration.json'}"
    assert evaluate("--judge", f"{spec}&abstain=0.05", judge=spec)[0] in (0, 3)
    folder = tmp_path / "out"
    report = Report.model_validate_json((folder / "report.json").read_text())
    plain, abstaining = report.curves
    assert plain.certified == abstaining.certified
    assert plain.certified[-1].passed_up_to < calibration.threshold
    assert abstaining.decided == abstaining.certified[1].found, "at most 5 %, as asked"
    for name in ("reliability.svg", "coverage-risk.svg"):
        assert (folder / name).read_text().startswith("<svg")
        assert f"({name})" in (folder / "report.md").read_text()


def without_seconds(report):
    """Return the report's text without what the clock says, which is there for every row."""
    text = report.read_text()
    found = re.search(r"(?<=\n)\| `token-similarity` \|(?: +[\d,]+ \|){4} +([\d,.]+) \| ", text)
    assert found is not None
    return text.replace(found.group(), "")


def test_a_stopped_run_goes_on_and_ends_the_same(evaluate, tmp_path):
    evaluate()
    folder = tmp_path / "out"
    verdicts = folder / "verdicts-token-similarity.jsonl"
    whole, report = verdicts.read_bytes(), without_seconds(folder / "report.md")
    verdicts.write_bytes(whole[: len(whole) // 2])
    (folder / "report.md").unlink()
    assert evaluate()[0] == 0
    assert verdicts.read_bytes() == whole
    assert without_seconds(folder / "report.md") == report


def test_verdicts_of_other_rows_or_oddly_named_judges_are_kept_apart(evaluate, tmp_path):
    evaluate()
    code, _, error = evaluate("--limit", 5)
    assert code == 2
    assert "another rows sha256" in error
    specs = ["lynx:ORG/M@http://h:1/v1", "lynx:ORG/M@http://h:1/v2", "lynx:" + "x" * 300, "lynx"]
    names = [verdict_file(tmp_path, spec).name for spec in specs]
    assert len(set(names)) == 4
    assert all(len(name) < 100 and "/" not in name for name in names)
    assert names[3] == "verdicts-lynx.jsonl"


def test_no_judge_sees_the_gold(evaluate, monkeypatch):
    from moonlynx.judge.judges.detectors.token_similarity import TokenSimilarity

    seen = []
    judge = TokenSimilarity.__call__

    def spy(self, examples):
        seen.extend(examples)
        return judge(self, examples)

    monkeypatch.setattr(TokenSimilarity, "__call__", spy)
    evaluate()
    assert len(seen) == 12
    assert {(example.label, example.spans) for example in seen} == {(None, None)}


def test_unscored_rows_end_with_their_exit_code(evaluate, tmp_path):
    script = tmp_path / "script.jsonl"
    replies = [
        {"match": "45 metres", "text": '{"REASONING": ["It is 31 metres."], "SCORE": "FAIL"}'},
        {"match": "31 metres tall.", "text": '{"REASONING": ["It says so."], "SCORE": "PASS"}'},
        {"text": "I would rather not say."},
    ]
    script.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    code, out, _ = evaluate(judge=f"lynx@fake?script={script}")
    assert code == 3
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    lynx = report["micro"]["systems"][0]
    assert report["judges"][0]["unscored"] == {"unparsed": 10}
    # h1 and h2 alone are scored, and right.
    assert lynx["metrics"]["accuracy"]["value"] == pytest.approx(2 / 12)
    assert lynx["metrics"]["recall"]["value"] == pytest.approx(1 / 5)
    assert "|       10 |" in out


@pytest.mark.parametrize(("arguments", "message"), cases(__file__, "wrong_usage"))
def test_wrong_usage_ends_with_a_message(evaluate, arguments, message):
    code, _, error = evaluate(*arguments)
    assert code == 2
    assert message in error
    assert "Traceback" not in error


def test_compare_prints_and_writes(command_line, evaluate, fixtures, tmp_path):
    evaluate("--judge", "token-similarity?metric=rouge")
    folder = tmp_path / "out"
    a, b = (
        verdict_file(folder, spec) for spec in ("token-similarity", "token-similarity?metric=rouge")
    )
    written = tmp_path / "comparison.json"
    benchmark = fixtures / "benchmark.jsonl"
    code, out, _ = command_line("compare", a, b, "--benchmark", benchmark, "--output", written)
    assert code == 0
    assert out.startswith(f"- A: token-similarity 1-overlap, {a} (0 unscored)\n")
    assert json.loads(written.read_text())["rows"] == 12
    code, _, error = command_line("compare", a, benchmark, "--benchmark", benchmark)
    assert code == 2
    assert "is not a Verdict" in error


@pytest.mark.heavy  # a process for each judge
def test_precisions_are_compared_with_the_first(evaluate, tmp_path):
    code, out, _ = evaluate("--judge", "token-similarity?metric=rouge", "--precisions")
    assert code == 0
    page = (tmp_path / "out" / "precisions.md").read_text()
    assert page in out
    first, other = [line.split(" | ") for line in page.splitlines()[4:]]
    assert (first[0], first[2], first[5][:5]) == ("| `token-similarity`", "–", "100.0")
    assert re.fullmatch(r"[+-][\d.]+ \[[+-][\d.]+, [+-][\d.]+\]", other[2])
    assert float(other[8]) > 0.01, "GB of the process"
    assert first[9] == "– |", "no weights"
    assert evaluate("--precisions")[0] == 2
    code, _, err = evaluate("--judge", "lynx:/nowhere@transformers", "--precisions")
    assert (code, "there is no model at /nowhere" in err) == (2, True)


@pytest.mark.heavy
def test_a_precision_being_judged_ends_with_the_killed_run(fixtures, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(120)
        judge = f"lynx:model@http://127.0.0.1:{server.getsockname()[1]}/v1?timeout=600"
        named = ("--benchmark", fixtures / "benchmark.jsonl", "--output", tmp_path / "out")
        command = (sys.executable, "-m", "moonlynx", "eval", *named, "--judge", judge)
        with subprocess.Popen((*command, "--judge", "token-similarity", "--precisions")) as run:
            asked, _ = server.accept()
            run.kill()
        with asked:
            asked.settimeout(60)
            while asked.recv(65536):  # its request, then the end of who made it
                pass


def test_the_size_of_adapters_is_that_of_their_base_as_well(tmp_path):
    base, adapters = tmp_path / "base", tmp_path / "adapters"
    for folder, size in ((base, 700), (adapters, 30)):
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(bytes(size))
    judge = parse_spec(f"lynx:{adapters}@transformers")
    assert _file_bytes(judge) == 30
    (adapters / "model.safetensors").rename(adapters / "adapter_model.safetensors")
    settings = adapters / "adapter_config.json"
    settings.write_text(json.dumps({"base_model_name_or_path": str(base)}))
    assert _file_bytes(judge) == 730
    settings.write_text(json.dumps({"base_model_name_or_path": "ORG/MODEL"}))
    assert _file_bytes(judge) is None, "part of it is not a file here"


def test_the_size_of_what_was_downloaded(tmp_path, monkeypatch):
    import huggingface_hub.constants as hub

    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path))
    place = tmp_path / "models--ORG--MODEL"
    folder = place / "snapshots" / (40 * "0")
    folder.mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(40 * "0")
    (folder / "model.safetensors").write_bytes(bytes(700))
    (folder / "model-q4.gguf").write_bytes(bytes(40))
    for judge, size in {
        "lynx:ORG/MODEL@transformers": 700,
        "lynx:ORG/MODEL/model-q4.gguf@llamacpp": 40,
        "lynx:ORG/MODEL/model-q8.gguf@llamacpp": None,
        "lynx:ORG/OTHER@transformers": None,
        "lynx:ORG/MODEL@http://localhost:8000/v1": None,  # which may serve it in another form
    }.items():
        assert _file_bytes(parse_spec(judge)) == size, judge
