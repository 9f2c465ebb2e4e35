import json
from pathlib import Path

import pytest
import yaml

from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.metrics.adapter import HeadError, Scaling, load_head_file
from moonlynx.judge.metrics.loading import load_metric
from moonlynx.recipes.luna2.settings import RECIPES, Run
from moonlynx.recipes.luna2.train import train
from moonlynx.recipes.runs import SettingsError, find_recipe, read_run

from ...cases import cases, write_lines
from ...command import succeed
from ...tiny_gguf import write_gguf
from .rows import PII, TOXICITY, boolean, multi_label, row, splits

RUNS = sorted(path.stem for path in RECIPES.glob("*.yaml"))
TINY = yaml.safe_load(Path(__file__).with_name("tiny.yaml").read_text(encoding="utf-8"))


def tiny(backbone, **changes):
    return Run.model_validate(TINY | {"backbone": str(backbone)} | changes)


def test_every_recipe_can_be_read():
    assert {"llama-3.2-3b", "llama-3.1-8b", "qwen3-4b", "qwen3-8b"} <= set(RUNS)
    assert {"ministral-3b", "ministral-8b", "llama-3.1-8b-qlora"} <= set(RUNS)
    for name in RUNS:
        run = read_run(find_recipe(name, RECIPES), Run)
        assert (run.lora.rank, run.lora.alpha) == (16, 16)
        assert set(run.lora.targets) == {"q_proj", "k_proj", "v_proj", "o_proj"}
    assert read_run(find_recipe("llama-3.1-8b-qlora", RECIPES), Run).load == "nf4"


@pytest.mark.heavy
@pytest.mark.parametrize("recipe", RUNS)
def test_every_recipe_says_what_it_would_do_without_its_backbone(tmp_path, recipe):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"output": "Go away", "input": "", "labels": ["true"]}\n' * 8)
    said = succeed("train", "luna2", "toxicity", "--data", path, "--recipe", recipe, "--dry-run")
    backbone = read_run(find_recipe(recipe, RECIPES), Run).backbone
    assert f"toxicity on {backbone}: " in said
    assert "lengths not counted: " in said


@pytest.mark.parametrize(("changes", "message"), cases(__file__, "wrong_settings"))
def test_what_is_wrong_in_a_yaml_is_named(tmp_path, changes, message):
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump(TINY | changes))
    with pytest.raises(SettingsError, match=message):
        read_run(path, Run)


def right_labels(folder, rows):
    """Count the rows to which the head gives the labels that it was taught."""
    head = load_metric(f"luna2:{folder}@transformers?batch=16")
    verdicts = head([each.input for each in rows])
    decided = [head.definition.decide(verdict.labels) for verdict in verdicts]
    return sum(given == each.labels for given, each in zip(decided, rows, strict=True))


@pytest.mark.heavy
@pytest.mark.parametrize("load", ["whole", "nf4"])
def test_sixteen_rows_are_learned_by_heart(tiny_llama, tmp_path, load):
    rows = boolean()
    run = tiny(tiny_llama, load=load, checkpointing=load == "nf4")
    weights = (tiny_llama / "model.safetensors").read_bytes()
    done = train(run, TOXICITY, splits(rows), tmp_path)
    assert (done.rows, done.steps, done.too_long, done.blank) == (16, 30, 0, 0)
    assert done.losses[-1] < 0.05 < done.losses[0]
    assert done.trained_weights < 0.2 * done.all_weights
    assert right_labels(tmp_path / "head", rows) == 16
    assert (tiny_llama / "model.safetensors").read_bytes() == weights
    config = json.loads((tmp_path / "head" / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"]) == (16, 16)
    assert not (tmp_path / "head" / "README.md").exists()


@pytest.mark.heavy
def test_a_gguf_file_is_a_backbone_and_another_model_than_what_it_was_made_of(tiny_llama, tmp_path):
    pytest.importorskip("xllamacpp")
    pytest.importorskip("gguf")
    file, rows = write_gguf(tiny_llama, tmp_path / "tiny.gguf"), boolean()
    train(tiny(file), TOXICITY, splits(rows), tmp_path)
    head = tmp_path / "head"
    assert load_head_file(head).backbone.name == str(file)
    assert right_labels(head, rows) == 16
    file.rename(tmp_path / "moved.gguf")
    load_metric(f"luna2:{head}@transformers?backbone={tmp_path / 'moved.gguf'}")
    with pytest.raises(HeadError, match="is another model"):
        load_metric(f"luna2:{head}@transformers?backbone={tiny_llama}")
    with pytest.raises(MoonlynxError, match=r"there is no model at .*tiny\.gguf"):
        load_metric(f"luna2:{head}")


@pytest.mark.heavy
def test_several_labels_are_learned_in_one_pass_and_a_head_in_bf16(tiny_llama, tmp_path):
    rows = multi_label()
    done = train(tiny(tiny_llama, epochs=60), PII, splits(rows), tmp_path)
    assert done.losses[-1] < 0.1 * done.losses[0]
    assert right_labels(tmp_path / "head", rows) == 16

    run = tiny(tiny_llama, precision="bf16", device="auto", epochs=1)
    assert train(run, TOXICITY, splits(boolean()), tmp_path / "bf16").steps == 1


@pytest.mark.heavy
def test_a_backbone_that_can_see_learns_to_read(tiny_llama, tmp_path):
    from safetensors import safe_open
    from transformers import Mistral3Config, Mistral3ForConditionalGeneration, set_seed

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "head_dim": 8}
    text = {"model_type": "ministral3", "num_hidden_layers": 2, "num_key_value_heads": 2}
    text |= {"vocab_size": 512, "initializer_range": 0.2, **sizes}
    sight = {"model_type": "pixtral", "num_hidden_layers": 1, "image_size": 28, "patch_size": 14}
    set_seed(0)
    config = Mistral3Config(text_config=text, vision_config=sight | sizes, image_token_index=10)
    seeing = tmp_path / "seeing"
    Mistral3ForConditionalGeneration(config).save_pretrained(seeing)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        (seeing / name).write_bytes((tiny_llama / name).read_bytes())

    rows = boolean()
    train(tiny(seeing), TOXICITY, splits(rows), tmp_path / "run")
    head = tmp_path / "run" / "head"
    assert right_labels(head, rows) == 16
    with safe_open(head / "adapter_model.safetensors", "pt") as adapter:
        assert all(".language_model." in name for name in adapter.keys())  # noqa: SIM118


@pytest.mark.heavy
@pytest.mark.parametrize("load", ["whole", pytest.param("nf4", marks=pytest.mark.slow)])
def test_the_epoch_with_the_least_validation_loss_is_kept(tiny_llama, tmp_path, load):
    """Validation rows are labelled the other way round: what is learned makes them worse.

    The head holds its weights in 16 bit, half of what a checkpoint takes.
    """
    import torch
    from safetensors.torch import load_file

    rows = boolean()
    other = {"true": "false", "false": "true"}
    wrong = [
        row(number, each.input.output, [other[label] for label in each.labels])
        for number, each in enumerate(rows)
    ]
    done = train(tiny(tiny_llama, load=load, epochs=5), TOXICITY, splits(rows, wrong), tmp_path)
    assert done.validation_losses == sorted(done.validation_losses)
    assert (done.steps, done.kept) == (5, 1)
    folders = (tmp_path / "head", tmp_path / "checkpoints" / "checkpoint-1")
    head, first = (load_file(folder / "adapter_model.safetensors") for folder in folders)
    assert {weight.dtype for weight in head.values()} == {torch.float16}
    assert {name: weight.tolist() for name, weight in head.items()} == {
        name: weight.half().tolist() for name, weight in first.items()
    }


@pytest.mark.heavy
def test_a_stopped_run_goes_on_and_ends_as_an_undisturbed_one(tiny_llama, tmp_path, monkeypatch):
    from transformers import Trainer

    rows = splits(boolean(), boolean() * 2)
    run = tiny(tiny_llama, epochs=3, batch=8, rows_at_once=4)
    whole = train(run, TOXICITY, rows, tmp_path / "whole")
    assert (whole.steps, len(whole.validation_losses), whole.validation) == (6, 3, 32)
    assert whole.fitted_after < whole.fitted_before

    step = Trainer.training_step

    def power_cut(self, *arguments, **options):
        if self.state.global_step == 5:
            raise KeyboardInterrupt
        return step(self, *arguments, **options)

    monkeypatch.setattr(Trainer, "training_step", power_cut)
    with pytest.raises(KeyboardInterrupt):
        train(run, TOXICITY, rows, tmp_path / "cut")
    assert not (tmp_path / "cut" / "head").exists()
    monkeypatch.undo()
    resumed = train(run, TOXICITY, rows, tmp_path / "cut")
    assert resumed.losses == pytest.approx(whole.losses)
    first, second = (tmp_path / name / "head" / "luna2.json" for name in ("whole", "cut"))
    assert json.loads(first.read_text()) == json.loads(second.read_text())
    with pytest.raises(SettingsError, match=r"run\.json has other settings"):
        train(run, TOXICITY, splits(boolean()[:8]), tmp_path / "cut")


@pytest.mark.heavy
def test_a_head_goes_on_with_few_rows_and_keeps_what_they_cannot_fit(tiny_llama, tmp_path):
    before = tmp_path / "before" / "head"
    train(tiny(tiny_llama, epochs=3), TOXICITY, splits(boolean(), boolean() * 2), before.parent)
    again = tiny(tiny_llama, epochs=3, head=str(before))
    train(again, TOXICITY, splits(boolean()[8:], boolean()[:6]), tmp_path / "again")
    old, new = (load_head_file(folder) for folder in (before, tmp_path / "again" / "head"))
    assert old.version != new.version
    assert old.scaling != Scaling()
    assert (old.scaling, old.thresholds) == (new.scaling, new.thresholds)
    with pytest.raises(HeadError, match="is of another metric"):
        train(again, PII, splits(multi_label()), tmp_path / "other")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("changes", "rows", "message"),
    [
        ({"max_length": 20}, boolean(), "none of 16 rows can be trained on: 16 are longer"),
        ({}, [row(1, " ", ["true"])], "1 hold nothing the metric reads"),
        ({}, [row(1, "x", ["true"]), row(2, "y", ["true"])], "all 2 rows have the same labels"),
        ({"backbone": "/nowhere"}, boolean(), "there is no model at"),
        (
            {"backbone": "runs/small/backbone"},
            boolean(),
            "runs/small/backbone is not a folder here",
        ),
        ({"lora": {"targets": ["nothing"]}}, boolean(), "backbone: cannot train on"),
    ],
)
def test_a_run_that_cannot_be_says_why(tiny_llama, tmp_path, changes, rows, message):
    run = tiny(changes.pop("backbone", tiny_llama), **changes)
    with pytest.raises(MoonlynxError, match=message):
        train(run, TOXICITY, splits(rows), tmp_path / "out")


@pytest.mark.heavy
def test_from_rows_to_verdicts_by_the_command_line(tiny_llama, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(TINY | {"epochs": 2}))
    lines = [
        each.input.model_dump(exclude_none=True)
        | {"labels": sorted(each.labels), "group": each.group}
        for each in boolean()
    ]
    write_lines(Path("rows.jsonl"), *lines)
    command = ["train", "luna2", "toxicity", "--data", "rows.jsonl", "--recipe", "mine.yaml"]
    planned = succeed(*command, "--backbone", tiny_llama, "--dry-run")
    assert "each class is one token: one sign: 1 for true or 0 for false" in planned
    Path("fewer.yaml").write_text(yaml.safe_dump(TINY | {"rows": 6}))
    fewer = succeed(*command[:-1], "fewer.yaml", "--backbone", tiny_llama, "--dry-run")
    assert ": 6 rows, 1 for validation" in fewer
    assert not Path("runs").exists()
    said = succeed(*command, "--backbone", tiny_llama)
    assert "too few validation rows to fit to" in said
    head = Path("runs/luna2-toxicity-mine/head")
    assert (head / "luna2.json").is_file()

    succeed(*command, "--backbone", tiny_llama, "--head", head)
    other = Path("runs/luna2-toxicity-mine-again/head/adapter_model.safetensors")
    assert other.read_bytes() != (head / other.name).read_bytes()

    succeed("metric", f"luna2:{head}", "--input", "rows.jsonl", "--output", "out.jsonl")
    verdicts = Path("out.jsonl").read_text().splitlines()
    assert [json.loads(verdict)["metric"] for verdict in verdicts] == ["toxicity"] * 16
