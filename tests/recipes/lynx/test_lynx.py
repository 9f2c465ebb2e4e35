"""Lynx's recipes: every YAML is dry-run, and real TRL, PEFT and bitsandbytes train a tiny Llama."""

import json
import math
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import yaml

from moonlynx.halubench.records import Provenance, QARow
from moonlynx.judge.contract.types import BadInput, Example, MoonlynxError
from moonlynx.judge.judges.lynx import REPLY_KEYS, reply_schema
from moonlynx.judge.prompts.parsing import parse_lynx
from moonlynx.judge.registry import load_judge
from moonlynx.recipes import lynx
from moonlynx.recipes.chat import model, trial
from moonlynx.recipes.chat.command import show_plan
from moonlynx.recipes.chat.estimate import describe, estimate, read_shape
from moonlynx.recipes.chat.fitting import Fitting, Length, NothingToTrainOn
from moonlynx.recipes.chat.model import BaseNotUsable, adapters, load_model, load_tokenizer
from moonlynx.recipes.chat.record import read_record
from moonlynx.recipes.chat.sft import arguments_of, build_trainer
from moonlynx.recipes.chat.trial import try_run
from moonlynx.recipes.lynx import sft
from moonlynx.recipes.lynx.chats import chat_of, fit, preferences_of, shuffle_labels
from moonlynx.recipes.lynx.settings import LynxRun
from moonlynx.recipes.lynx.sft import train
from moonlynx.recipes.runs import SettingsError, find_recipe, read_run

from ...cases import cases, write_lines
from ...command import moonlynx, succeed
from ...tiny_gguf import write_gguf
from ...tiny_llama import build_tiny_llama

FOLDER = Path(lynx.__file__).parent
RUNS = sorted(path.stem for path in FOLDER.glob("*.yaml"))
HERE = {"gpus": 0, "memory_gb": 8, "tflops": 0.1, "utilisation": 0.5}
TINY = yaml.safe_load(Path(__file__).with_name("tiny.yaml").read_text(encoding="utf-8"))


def row(number, *, words=8, label="PASS"):
    year = 1900 + number
    said = year if label == "PASS" else year + 20
    return QARow(
        id=f"made/{number}",
        source="made",
        question="When did it open?",
        context=(f"The tower opened in {year}. " + "It is red. " * words,),
        answer=f"It opened in {said}.",
        label=label,
        group=f"made/{number}",
        provenance=Provenance(file="made", sha256="0" * 64, row=number, licence="Apache-2.0"),
        reasoning=(f"The document gives {year} as the year.", f"The answer says {said}."),
    )


ROWS = [row(number, label="FAIL" if number % 2 else "PASS") for number in range(8)]


@pytest.fixture
def rows_file(tmp_path):
    return write_lines(tmp_path / "rows.jsonl", *ROWS)


def tiny(folder, **changes):
    return LynxRun.model_validate(TINY | {"base": str(folder)} | changes)


def test_the_papers_run():
    run = read_run(find_recipe("lynx-8b", FOLDER), LynxRun)
    assert (run.method, run.max_length, run.epochs, run.learning_rate) == ("full", 8000, 3, 5e-7)
    assert (run.optimizer, run.betas, run.clip) == ("lion_32bit", (0.9, 0.95), 1.0)
    assert (run.warmup_steps, run.min_lr_rate) == (100, 0.1)
    before = LynxRun.model_validate({"base": "x", "floor": 0.2})  # as runs before 0.9
    assert before.min_lr_rate == 0.2
    assert run.steps(2400) == 225 > run.warmup_steps
    paper = read_run(find_recipe("lynx-8b-batch-256", FOLDER), LynxRun)
    assert paper.steps(2400) == 30 > paper.warmup_steps


@pytest.mark.heavy
@pytest.mark.parametrize("name", RUNS)
def test_every_run_is_estimated(name, tiny_llama, rows_file, tmp_path):
    deep = tmp_path / "deep"  # enough for the runs that name their topmost layers
    shutil.copytree(tiny_llama, deep, ignore=shutil.ignore_patterns("*.safetensors"))
    config = json.loads((deep / "config.json").read_text())
    (deep / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 28}))
    said = succeed("train", name, "--rows", rows_file, "--base", deep, "--dry-run")
    run = read_run(find_recipe(name, FOLDER), LynxRun)
    first, memory, time = said.splitlines()
    rows = 8 if run.preference is None else 0
    assert f"{run.method}: {rows} rows, 0 left out as longer than {run.max_length} tokens" in first
    assert f"fits into {run.hardware.memory_gb:.0f} GB" in memory
    assert ("a CPU's process takes more" in memory) == (run.hardware.gpus == 0)
    assert f"on {run.processes} of" in time


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "weights"),
    [("lynx-8b-lora", "16.7 weights"), ("lynx-8b", "4.0 weights, 4.0 gradients, 4.0 optimiser")],
)
def test_the_real_8b_is_estimated_at_almost_8000_tokens(name, weights, tmp_path):
    """Shape and parameters are those of the real model; of its weights there are none."""
    from transformers import LlamaConfig

    base = build_tiny_llama(tmp_path / "base")
    (base / "model.safetensors").unlink()
    LlamaConfig.from_pretrained(Path(__file__).with_name("llama-3-8b.json")).save_pretrained(base)
    rows = write_lines(tmp_path / "long.jsonl", row(1, words=1_200))
    said = succeed("train", name, "--rows", rows, "--base", base, "--dry-run")
    first, memory, _ = said.splitlines()
    assert "1 rows, 0 left out as longer than 8000 tokens" in first
    assert weights in memory
    assert "fits into 80 GB" in memory


@pytest.mark.heavy
@pytest.mark.parametrize("path", sorted(FOLDER.rglob("accelerate/*.yaml")), ids=lambda p: p.stem)
def test_accelerate_reads_its_configurations(path):
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes == int(path.stem.partition("-")[0])
    assert config.mixed_precision == "bf16"


@pytest.mark.parametrize(("changes", "message"), cases(__file__, "wrong_settings"))
def test_what_is_wrong_in_a_yaml_is_named(tmp_path, changes, message):
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump(TINY | changes))
    with pytest.raises(SettingsError, match=message):
        read_run(path, LynxRun)


def test_a_chat_asks_and_replies_as_the_judge_does_and_rejects_its_counterpart():
    chat = chat_of(ROWS[1])
    (asked,), (replied,) = chat["prompt"], chat["completion"]
    assert "It opened in 1921." in asked["content"]
    parsed = parse_lynx(replied["content"], truncated=False)
    assert (parsed.score, parsed.reasoning) == ("FAIL", ROWS[1].reasoning)
    # As vLLM writes JSON under a schema: each blank learned would be one it must not say.
    assert replied["content"].startswith('{"REASONING":["The document')
    assert replied["content"].endswith('],"SCORE":"FAIL"}')
    alone = row(50)
    found = dict(preferences_of([*pairs(2), alone]))
    assert len(found) == 4
    chat = found["made/1/FAIL"]
    assert "It opened in 1921." in chat["prompt"][0]["content"]
    (chosen,), (rejected,) = chat["chosen"], chat["rejected"]
    assert parse_lynx(chosen["content"], truncated=False).score == "FAIL"
    assert parse_lynx(rejected["content"], truncated=False).score == "PASS"


@pytest.mark.parametrize("field", ["label", "reasoning"])
def test_a_row_that_teaches_nothing_is_named(field):
    bad = ROWS[0].model_copy(update={field: None})
    with pytest.raises(BadInput, match=f"row made/0, {field}: is missing"):
        chat_of(bad)


def test_the_reply_has_the_parts_of_its_form_in_their_order():
    for form, keys in REPLY_KEYS.items():
        (replied,) = chat_of(ROWS[1], form)["completion"]
        target = json.loads(replied["content"])
        assert tuple(target) == keys
        jsonschema.validate(target, reply_schema(form))
        assert parse_lynx(replied["content"], truncated=False).score == "FAIL"
    untraced = ROWS[1].model_copy(update={"reasoning": ()})
    (replied,) = chat_of(untraced, "score")["completion"]
    assert replied["content"] == '{"SCORE":"FAIL"}'
    with pytest.raises(BadInput, match="row made/1, reasoning: is missing"):
        chat_of(untraced, "score-first")


def test_shuffled_labels_go_with_their_reasoning():
    shuffled = shuffle_labels(ROWS, 17)
    assert [each.answer for each in shuffled] == [each.answer for each in ROWS]
    assert [each.label for each in shuffled] != [each.label for each in ROWS]
    assert shuffled == shuffle_labels(ROWS, 17)
    known = {each.reasoning: each.label for each in ROWS}
    assert {each.reasoning: each.label for each in shuffled} == known


LORA = {"rank": 8, "alpha": 16, "dropout": 0.0}
TOPMOST = LORA | {"targets": ["q_proj", "v_proj", "up_proj"], "layers": 1}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": "lion_32bit", "learning_rate": 3e-4, "betas": [0.9, 0.95]},
        {"method": "lora", "lora": LORA, "learning_rate": 3e-2},
        {"method": "qlora", "lora": LORA, "learning_rate": 3e-2},
        {"reply": "score", "learning_rate": 3e-2},
        {"method": "lora", "lora": TOPMOST, "learning_rate": 3e-2},
    ],
    ids=["full", "lion", "lora", "qlora", "score", "topmost layer"],
)
def test_the_loss_falls(tiny_llama, tmp_path, changes):
    run = tiny(tiny_llama, epochs=6, max_length=2000, **changes)
    done = train(run, [*ROWS, row(90, words=500)], ROWS[:2], tmp_path)
    assert (done.rows, done.too_long, done.validation) == (8, 1, 2)
    assert done.steps == run.steps(8) == len(done.losses) == 12
    assert done.losses[-1] < 0.75 * done.losses[0]
    assert len(done.validation_losses) == 6
    assert done.validation_losses[-1] < done.validation_losses[0]
    saved = "model.safetensors" if run.method == "full" else "adapter_model.safetensors"
    assert (tmp_path / "model" / saved).stat().st_size > 0


@pytest.mark.heavy
def test_losses_are_reported_to_tensorboard(tiny_llama, tmp_path):
    event_accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="needs tensorboard"
    )

    done = train(tiny(tiny_llama, epochs=1), ROWS, [], tmp_path, "tensorboard")
    (events,) = tmp_path.rglob("events.out.tfevents.*")
    found = event_accumulator.EventAccumulator(str(events))
    found.Reload()
    assert [each.value for each in found.Scalars("train/loss")] == pytest.approx(done.losses)


@pytest.mark.heavy
def test_a_tracker_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sft, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match="log-to: wandb is not installed; pip install wandb"):
        sft.train(tiny("base"), ROWS, [], tmp_path / "out", "wandb")
    assert not (tmp_path / "out").exists()


def pairs(count):
    """Yield rows in pairs over one question, one PASS and one FAIL."""
    for number in range(count):
        for label in ("PASS", "FAIL"):
            each = row(number, label=label)
            yield each.model_copy(update={"id": f"{each.id}/{label}"})


@pytest.mark.heavy
def test_preferences_are_learned(tiny_llama, tmp_path):
    run = tiny(tiny_llama, preference={"beta": 0.5}, epochs=10, learning_rate=3e-4)
    done = train(run, list(pairs(2)), [], tmp_path)
    assert (done.rows, done.steps) == (4, 10)
    assert done.losses[0] == pytest.approx(math.log(2), abs=0.01)
    assert done.losses[-1] < 0.9 * done.losses[0]
    alone = tiny(tiny_llama, preference={"beta": 0.5})
    with pytest.raises(NothingToTrainOn, match="none of 8 rows can be trained on"):
        train(alone, ROWS, [], tmp_path / "none")


@pytest.mark.heavy
def test_a_stopped_run_goes_on(tiny_llama, tmp_path):
    once = {"epochs": 1, "checkpoint_steps": 1, "shuffled_labels": True}
    first = train(tiny(tiny_llama, **once), ROWS, [], tmp_path)
    assert first.steps == 2
    with pytest.raises(SettingsError, match=r"run.json has other settings"):
        train(tiny(tiny_llama, epochs=3), ROWS, [], tmp_path)
    (tmp_path / "run.json").unlink()
    state = tmp_path / "checkpoint-2" / "trainer_state.json"
    held = json.loads(state.read_text())
    held["stateful_callbacks"]["Stopwatch"]["attributes"]["before"] += 10_000
    state.write_text(json.dumps(held))
    second = train(tiny(tiny_llama, **once | {"epochs": 3}), ROWS, [], tmp_path)
    assert second.steps == 6
    assert second.losses[:2] == first.losses  # they are of the checkpoint's log
    assert 0 < first.seconds < 10_000 < second.seconds


@pytest.mark.heavy
def test_adapters_are_trained_on(tiny_llama, tmp_path):
    """A second run starts where the first has ended, and leaves the same adapters, changed."""
    from safetensors.torch import load_file

    once = {"method": "lora", "learning_rate": 3e-2}
    run = tiny(tiny_llama, lora=TOPMOST, **once)
    first = train(run, ROWS, [], tmp_path / "first")
    start = tmp_path / "first" / "model"
    run = tiny(start, lora=TOPMOST | {"targets": ["up_proj", "v_proj", "q_proj"]}, **once)
    shape = read_shape(run)
    assert shape == read_shape(tiny(tiny_llama, lora=TOPMOST, **once))
    second = train(run, ROWS, [], tmp_path / "second")
    assert max(second.losses) < first.losses[0] - 1
    assert (first.before, second.before) == (None, first)
    one, other = (
        load_file(tmp_path / name / "model" / "adapter_model.safetensors")
        for name in ("first", "second")
    )
    assert one.keys() == other.keys()
    config = json.loads((tmp_path / "second" / "model" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(tiny_llama)
    for changes, message in (
        ({"lora": TOPMOST | {"rank": 4}}, r"lora\.rank: write 8, as the adapters in"),
        ({"lora": TOPMOST | {"layers": None}}, r"lora\.layers: write 1, as"),
        (
            {"lora": TOPMOST | {"targets": ["q_proj"]}},
            r"lora\.targets: write \['q_proj', 'up_proj'",
        ),
        (
            {"lora": None, "method": "full"},
            "base: .* holds adapters, which only a run of the method",
        ),
    ):
        with pytest.raises(SettingsError, match=message):
            show_plan(
                tiny(start, **{"lora": TOPMOST} | once | changes), Fitting([], [], []), trial=False
            )
    for text, message in (
        ("{", "cannot read the adapters in"),
        ("{}", r"the adapters in .* are no"),
    ):
        (start / "adapter_config.json").write_text(text)
        with pytest.raises(BaseNotUsable, match=f"base: {message}"):
            show_plan(run, Fitting([], [], []), trial=False)


@pytest.mark.heavy
@pytest.mark.parametrize("slow", [True, False])
def test_a_cpu_without_bf16_trains_in_fp32(tiny_llama, tmp_path, monkeypatch, caplog, slow):
    monkeypatch.setattr(model, "half_is_slow", lambda: slow)
    run = tiny(tiny_llama, precision="bf16", method="lora", lora=TOPMOST)
    assert load_model(run).dtype.itemsize == (4 if slow else 2)
    assert arguments_of(run, tmp_path, measured=False, tracker="none")["bf16"] is not slow
    assert ("this processor has no instructions for bf16" in caplog.text) is slow
    estimates = {
        describe(run.model_copy(update={"precision": each}), Fitting([], [], []))
        for each in ("bf16", "fp32")
    }
    assert len(estimates) == (1 if slow else 2)
    on_gpu = run.model_copy(update={"hardware": run.hardware.model_copy(update={"gpus": 1})})
    assert arguments_of(on_gpu, tmp_path, measured=False, tracker="none")["bf16"]


@pytest.mark.heavy
def test_a_gguf_file_is_trained_on(tiny_llama, tmp_path):
    pytest.importorskip("xllamacpp")
    file = write_gguf(tiny_llama, tmp_path / "tiny.gguf")
    once = {"method": "lora", "lora": TOPMOST, "learning_rate": 3e-2}
    run = tiny(file, **once)
    assert read_shape(run) == read_shape(tiny(tiny_llama, **once))
    first = train(run, ROWS, [], tmp_path / "first")
    for path in (tmp_path / "first" / "model").glob("*token*"):  # then the base's is read
        path.unlink()
    second = train(tiny(tmp_path / "first" / "model", **once), ROWS, [], tmp_path / "second")
    assert max(second.losses) < first.losses[0] - 1
    for path in (tmp_path / "second" / "model").glob("*token*"):
        path.unlink()
    judge = load_judge(f"lynx:{tmp_path / 'second' / 'model'}@transformers?reply=score")
    (verdict,) = judge([Example(context=ROWS[0].context, answer=ROWS[0].answer)])
    assert verdict.score in ("PASS", "FAIL")
    quantised = train(tiny(file, **once | {"method": "qlora"}), ROWS, [], tmp_path / "quantised")
    assert quantised.losses[-1] < quantised.losses[0]
    with pytest.raises(BaseNotUsable, match=r"base: cannot load .*none\.gguf"):
        train(tiny(tmp_path / "none.gguf", **once), ROWS, [], tmp_path / "none")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("changes", "rows", "message"),
    [
        ({"warmup_steps": 6}, ROWS, "warmup_steps: 6 is no less than the 6 steps"),
        ({"max_length": 100}, ROWS, "none of 8 rows can be trained on within 100 tokens"),
        ({"base": "/nowhere/model"}, ROWS, "base: cannot load the tokenizer"),
        (
            {"method": "lora", "lora": TOPMOST | {"layers": 3}},
            ROWS,
            "lora.layers: 3 is more than the 2 layers of",
        ),
    ],
)
def test_a_run_that_cannot_be_says_why(tiny_llama, tmp_path, changes, rows, message):
    with pytest.raises(MoonlynxError, match=message):
        train(tiny(tiny_llama, **changes), rows, [], tmp_path / "out")


@pytest.mark.heavy
def test_adapters_on_all_layers_say_so_where_the_run_does(tiny_llama):
    """So that a run of the same settings goes on with them."""
    for layers, chosen in ((None, None), (2, [0, 1]), (1, [1])):
        run = tiny(tiny_llama, method="lora", lora=TOPMOST | {"layers": layers})
        assert adapters(run, 2).layers_to_transform == chosen


@pytest.mark.heavy
def test_a_plan_refuses_what_the_run_would(tiny_llama):
    run = tiny(tiny_llama, method="lora", lora=TOPMOST | {"layers": 3})
    with pytest.raises(SettingsError, match=r"lora.layers: 3 is more than the 2 layers of"):
        show_plan(run, Fitting([], [], []), trial=False)


@pytest.mark.heavy
def test_the_command_trains(tiny_llama, rows_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(TINY | {"base": str(tiny_llama)}))
    command = ["train", "lynx", "mine.yaml", "--rows", rows_file]
    said = succeed(*command, "--validation", rows_file)
    assert "6 steps over 8 rows (0 too long)" in said
    assert "runs/mine/model" in said
    record = read_record(Path("runs/mine"))
    assert (record.steps, record.base, record.rows) == (6, str(tiny_llama), 8)
    ((source, licence, passes, fails),) = (tuple(dict(one).values()) for one in record.sources)
    assert (source, passes, fails) == (ROWS[0].source, 4, 4)
    assert licence == ROWS[0].provenance.licence
    assert not [path for path in Path("runs/mine/model").iterdir() if path.suffix == ".bin"]
    refused = moonlynx(*command, "--log-to", "paper")
    assert refused.exit_code == 2
    assert "'paper' is none of none, tensorboard, wandb" in refused.output


@pytest.mark.heavy
@pytest.mark.parametrize("changes", [{}, {"preference": {"beta": 0.5}}], ids=["sft", "dpo"])
def test_a_trial_takes_three_steps_and_leaves_nothing(tiny_llama, tmp_path, monkeypatch, changes):
    run = tiny(tiny_llama, max_length=2000, epochs=100, warmup_steps=1, **changes)
    rows = [*pairs(2), row(90, words=99)]
    fitting = fit(rows, run, load_tokenizer(run))
    monkeypatch.chdir(tmp_path)
    found = try_run(run, fitting)
    assert found.memory > 0.1
    # The rows are nearly alike, so the time of the whole goes by its steps.
    whole = found.seconds * run.epochs * len(fitting.chats) / run.batch / 3600
    assert found.hours == pytest.approx(whole, rel=1.0)
    assert not list(tmp_path.iterdir())
    with pytest.raises(NothingToTrainOn, match="within 2000 tokens"):
        try_run(run, Fitting([], [], []))


@pytest.mark.heavy
def test_the_command_tries_a_run(tiny_llama, rows_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(TINY | {"base": str(tiny_llama)}))
    said = succeed("train", "lynx", "mine.yaml", "--rows", rows_file, "--trial")
    assert "steps over" in said
    assert "loss" not in said
    assert re.search(r"tried here: [\d.]+ seconds a step, about \S+ hours in all; .* GB", said)
    assert not Path("runs").exists()


@pytest.mark.heavy
def test_rows_that_do_not_fit_a_gpu_are_named(tiny_llama, monkeypatch):
    import torch

    def build(*_):
        raise torch.OutOfMemoryError("tried to allocate 9 GiB")

    monkeypatch.setattr(trial, "build_trainer", build)  # no GPU is full here
    run = tiny(tiny_llama)
    fitting = fit(ROWS, run, load_tokenizer(run))
    with pytest.raises(trial.DoesNotFit, match="rows_at_once: 4 of the longest rows do not fit"):
        try_run(run, fitting)


@pytest.mark.heavy
def test_the_estimate_counts_the_logits_that_trl_computes(tiny_llama, tmp_path):
    run = tiny(tiny_llama)
    tokenizer = load_tokenizer(run)
    fitting = fit(ROWS[:4], run, tokenizer)
    arguments = arguments_of(run, tmp_path, measured=False, tracker="none")
    trainer = build_trainer(run, tokenizer, fitting.chats, [], arguments)
    read = [found["labels"] for found in trainer.train_dataset]
    assert fitting.lengths == [(len(row), sum(one != -100 for one in row)) for row in read]
    shape = read_shape(run)
    whole = [Length(tokens, tokens) for tokens, _ in fitting.lengths]
    least, most = (estimate(run, shape, each).hours for each in (fitting.lengths, whole))
    assert 0 < least < most


@pytest.mark.heavy
@pytest.mark.parametrize(("method", "lora"), [("full", None), ("lora", LORA), ("lora", TOPMOST)])
def test_the_estimate_of_what_weights_take_is_what_they_take(tiny_llama, method, lora):
    """Weights, gradients and optimiser states are counted in the tensors of a real step."""
    import torch

    run = tiny(tiny_llama, method=method, lora=lora)
    shape = read_shape(run)
    found = estimate(run, shape, [Length(100, 10)])
    model = load_model(run)
    if method == "lora":
        from peft import get_peft_model

        model = get_peft_model(model, adapters(run, shape.layers))
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trained)
    model(input_ids=torch.ones((1, 8), dtype=torch.long)).logits.sum().backward()
    optimizer.step()

    def gigabytes(tensors):
        return sum(each.numel() * each.element_size() for each in tensors) / 1e9

    states = [v for state in optimizer.state.values() for k, v in state.items() if k != "step"]
    assert found.weights == pytest.approx(gigabytes(model.parameters()), rel=0.01)
    assert found.gradients == pytest.approx(gigabytes([p.grad for p in trained]), rel=0.01)
    assert found.optimizer == pytest.approx(gigabytes(states), rel=0.01)
