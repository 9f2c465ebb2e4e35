import json
from functools import partial
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.prompted.raghalu import RagHaluPrompt
from moonlynx.judge.judges.talk import PromptedJudge
from moonlynx.judge.registry import load_judge
from moonlynx.recipes.chat.estimate import Shape, estimate
from moonlynx.recipes.chat.fitting import Length
from moonlynx.recipes.chat.record import read_record
from moonlynx.recipes.chat.sft import arguments_of
from moonlynx.recipes.raghalu import decoder
from moonlynx.recipes.raghalu.brand import BrandSentence
from moonlynx.recipes.raghalu.decoder.sentences import open_sentences
from moonlynx.recipes.raghalu.decoder.settings import DecoderRun
from moonlynx.recipes.raghalu.decoder.sft import chats_of
from moonlynx.recipes.raghalu.families import load_families, of_split
from moonlynx.recipes.runs import read_run

from ...cases import write_lines
from ...command import succeed
from ...labelled_data import DATA, reads_all_data
from ...one_thread import one_thread  # noqa: F401 - a fixture of all tests here
from ..lynx.test_lynx import TINY as TINY_CHAT

FOLDER = Path(decoder.__file__).parent
RUNS = sorted(path.stem for path in FOLDER.glob("*.yaml"))
TINY = TINY_CHAT | {
    "max_length": 2000,
    "batch": 10,
    "rows_at_once": 10,
    "epochs": 4,
    "warmup_steps": 2,
}
SAID = {
    "SUPPORTED": "It opened in {}.",
    "UNSUPPORTED": "It was sold to the town of tin in {}.",
    "NO_INFO": "Now, where shall we begin, in {}?",
}


def sentence(label, number):
    year = 1900 + number
    return BrandSentence(
        sentence=SAID[label].format(year),
        label=label,
        context=f"The tower opened in {year}.",
        question="When did it open?",
    )


ROWS = [sentence(label, number) for number in range(20) for label in SAID]


def asks(chat):
    (asked,), (replied,) = chat["prompt"], chat["completion"]
    return asked["content"], replied["content"]


train = partial(succeed, "train", "raghalu-decoder")


@pytest.fixture
def rows_file(tmp_path):
    return write_lines(tmp_path / "rows.jsonl", *ROWS)


def test_the_papers_run():
    run = read_run(FOLDER / "mistral-7b.yaml", DecoderRun)
    assert (run.method, run.max_length, run.epochs, run.learning_rate) == ("full", 8000, 4, 5e-6)
    assert (run.rows_at_once, run.accumulate, run.labels, run.sentences) == (1, 4, 2, "one")
    assert (run.precision, run.sharding) == ("fp16", "optimizer")
    arguments = arguments_of(run, Path("out"), measured=False, tracker="none")
    assert (arguments["fp16"], arguments["bf16"]) == (True, False)
    assert arguments["gradient_checkpointing"]  # accelerate's configuration has none
    zero = yaml.safe_load((FOLDER.parent / "accelerate/zero-1.yaml").read_text())
    assert (zero["deepspeed_config"]["zero_stage"], zero["mixed_precision"]) == (1, "fp16")
    assert run.base == "mistralai/Mistral-7B-Instruct-v0.1"
    for name in RUNS:
        path = FOLDER / f"{name}.yaml"
        assert read_run(path, DecoderRun).base == run.base
        assert f"moonlynx train raghalu-decoder {name} --rows" in path.read_text()


def test_zero_one_shares_out_the_optimiser_alone():
    run = read_run(FOLDER / "mistral-7b.yaml", DecoderRun)
    mistral = Shape(32, 4096, 14336, 32000, 7_241_732_096, 6_979_321_856, 0, 32)
    found = estimate(run, mistral, [Length(8000, 8000)])
    assert found.weights == found.gradients == pytest.approx(14.5, abs=0.1)
    assert found.optimizer == pytest.approx(12 * 7.24 / 8, abs=0.1)
    assert found.memory < run.hardware.memory_gb
    for wrong in ({"precision": "fp16"}, {"sharding": "optimizer"}):
        with pytest.raises(ValidationError, match="go with the method full"):
            DecoderRun.model_validate(dict(run) | {"method": "lora", "lora": {}} | wrong)


@pytest.mark.heavy
def test_a_run_is_estimated(tiny_llama, rows_file):
    said = train("mistral-7b-qlora", "--rows", rows_file, "--base", tiny_llama, "--dry-run")
    first, memory, time = said.splitlines()
    assert "qlora: 60 rows, 0 left out as longer than 4000" in first
    assert "fits into 24 GB" in memory
    assert "on 1 of" in time


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("how", ["one", "many"])
def test_a_chat_asks_as_the_judge_does_and_replies_as_it_reads(labels, how):
    run = DecoderRun.model_validate(TINY | {"labels": labels, "sentences": how})
    rows = [sentence("SUPPORTED", 5), sentence("UNSUPPORTED", 5), sentence("NO_INFO", 5)]
    told = dict(asks(chat) for _, chat in chats_of(rows, run))
    judge = PromptedJudge(
        FakeBackend(lambda request: told[request.messages[0].content]),
        RagHaluPrompt("m", labels=labels, sentences=how),
    )
    asked = [row for row in rows if labels == 3 or row.label != "NO_INFO"]
    (verdict,) = judge(
        [rows[0].example().model_copy(update={"answer": " ".join(r.sentence for r in asked)})]
    )
    assert [one.label for one in verdict.sentences] == [row.label for row in asked]
    assert len(told) == (1 if how == "many" else len(asked))
    assert all(
        reply == json.dumps(json.loads(reply), separators=(",", ":")) for reply in told.values()
    )


def test_sentences_beside_other_documents_are_asked_about_apart():
    run = DecoderRun.model_validate(TINY | {"sentences": "many"})
    found = chats_of([sentence("SUPPORTED", 1), sentence("UNSUPPORTED", 1), *ROWS[6:9]], run)
    assert [name for name, _ in found] == ["1", "3"]
    assert [asks(chat)[1] for _, chat in found] == ['{"1":"SUPPORTED","2":"UNSUPPORTED"}'] * 2
    alone = chats_of([sentence("SUPPORTED", 1)] * 20, run)
    assert [len(json.loads(asks(chat)[1])) for _, chat in alone] == [16, 4]


@reads_all_data
def test_open_sentences_are_of_training_sides():
    found = open_sentences(DATA)
    silent = {one.sentence for one in found if one.label == "NO_INFO"}
    assert silent == {s.text for s in of_split(load_families(), "train") if not s.verifiable}
    labels = [one.label for one in found]
    assert labels.count("SUPPORTED") > labels.count("UNSUPPORTED") > 3000


@pytest.mark.heavy
def test_a_model_is_trained_and_judges(tiny_llama, rows_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(TINY | {"base": str(tiny_llama), "labels": 3}))
    said = train("mine.yaml", "--rows", rows_file)
    record = read_record(Path("runs/raghalu-mine"))
    assert (record.rows, record.too_long, record.steps) == (60, 0, 24)
    assert record.losses[-1] < 0.1 * record.losses[0]
    name = said.partition("--judge '")[2].partition("'")[0].replace("\n", "")
    model, _, options = name.partition("?")
    assert model == "raghalu-prompt:runs/raghalu-mine/model"
    judge = load_judge(f"{model}@transformers?load=fp32&{options}")
    shown = ROWS[:3]
    verdicts = judge([row.example() for row in shown])
    assert [one.sentences[0].label for one in verdicts] == [row.label for row in shown]
    several = Example(
        context="The tower opened in 1903.", answer=" ".join(r.sentence for r in shown)
    )
    assert judge([several])[0].score == "FAIL"
