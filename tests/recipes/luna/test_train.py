import json
import random
from itertools import permutations
from pathlib import Path

import pytest

from moonlynx.judge.backends.torch_encoder import load_network
from moonlynx.judge.judges.luna.inputs import find_specials
from moonlynx.judge.judges.luna.weights import load_tokenizer
from moonlynx.recipes.hardware import HARDWARE
from moonlynx.recipes.luna import checkpoints
from moonlynx.recipes.luna import train as module
from moonlynx.recipes.luna.base import start_network
from moonlynx.recipes.luna.batches import batches, collate, encode_items, pad_id
from moonlynx.recipes.luna.checkpoints import CURVE, HELD_BACK, Progress, read_progress
from moonlynx.recipes.luna.items import Item
from moonlynx.recipes.luna.measure import measure
from moonlynx.recipes.luna.settings import Run, Stage
from moonlynx.recipes.luna.train import _rate, train
from moonlynx.recipes.runs import SettingsError

from ..tiny_base import build_base

WORDS = "amber birch cedar delta ember fjord grove heath inlet knoll larch maple".split()  # noqa: SIM905
FILES = ("model.safetensors", "heads.safetensors")


def membership():
    """Yield claims that are supported where the premise has their word; no two are the same."""
    rng = random.Random(0)
    for premise in permutations(WORDS, 2):
        others = [word for word in WORDS if word not in premise]
        for word in (*premise, *rng.sample(others, 2)):
            right = word in premise
            spans = () if right else ((0, len(word)),)
            yield Item(word, (" ".join(premise),), right, "membership", spans=spans)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return build_base(tmp_path_factory.mktemp("train"), WORDS, initializer_range=0.1)


@pytest.fixture(scope="module")
def tokenizer(base):
    return load_tokenizer(base / "tokenizer.json")


@pytest.fixture(scope="module")
def items(tokenizer):
    run = run_of(Stage(epochs=1))
    return encode_items([*membership()], tokenizer, find_specials(tokenizer), run.limits)


def run_of(stage, **settings):
    settings = {"precision": "fp32", "held_back": 0.2, "save_every": 2} | settings
    return Run(base="tiny", window=32, lead=4, claim=4, stages={"one": stage}, **settings)


def short(**settings):
    return Stage(epochs=2, batch_tokens=512, lr_trunk=1e-3, lr_heads=1e-3, **settings)


def run_train(run, items, base, out, tokenizer):
    network = start_network(base, run)
    return train(run, run.stages["one"], items, network, out, pad_id(tokenizer))


@pytest.mark.heavy
def test_it_learns_a_rule_and_measures_it_on_what_was_held_back(items, tokenizer, tmp_path):
    sizes = {"hidden_size": 64, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
    base = build_base(tmp_path / "base", WORDS, initializer_range=0.1, **sizes)
    stage = Stage(epochs=20, batch_tokens=256, lr_trunk=3e-3, lr_heads=3e-3)
    out = tmp_path / "out"
    progress = run_train(run_of(stage, save_every=100), items, base, out, tokenizer)
    figures = json.loads((out / "held_back.json").read_text())
    count, auroc = figures["claims"]["all"]
    assert (count, progress.items) == (106, 422)
    assert figures["claims"]["membership"] == [count, auroc]
    assert auroc > 0.9
    assert figures["tokens"][1] > 0.9
    assert progress.done
    assert progress == read_progress(out)
    tokens = sum(len(reading.ids) for item in items for reading in item.readings)
    assert progress.tokens == pytest.approx(20 * 0.8 * tokens, rel=0.01)


@pytest.mark.heavy
def test_frozen_layers_stay_and_the_token_types_enter_above_them(items, tokenizer, tmp_path):
    import torch

    base = build_base(tmp_path / "base", WORDS, num_hidden_layers=2)
    run = run_of(short(), frozen=1)
    network = start_network(base, run)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    out = tmp_path / "out"
    train(run, run.stages["one"], items, network, out, pad_id(tokenizer))
    after = load_network(out)
    changed = {
        name for name, value in after.state_dict().items() if not torch.equal(value, before[name])
    }
    assert {name.split(".")[0] for name in changed} >= {"marks", "claim", "tokens"}
    trunk = {name for name in changed if name.startswith("trunk.")}
    assert trunk
    assert all(name.startswith("trunk.encoder.layer.1.") for name in trunk)
    points = [json.loads(line) for line in (out / CURVE).read_text().splitlines()]
    read = [point["read_tokens"] for point in points]
    assert read == sorted(set(read))
    assert all(point["claims"]["all"][0] > 0 for point in points)
    # Token types that differ leave the first layer's output as it is.
    ids, mask = torch.ones((2, 1, 8), dtype=torch.int64)
    states = []
    after.trunk.encoder.layer[0].register_forward_hook(lambda *read: states.append(read[2]))
    with torch.inference_mode():
        claims = [after(ids, mask, mask * kind)[1].item() for kind in (1, 2)]  # alike to the trunk
    assert claims[0] != claims[1]
    assert torch.equal(states[0], states[1])


@pytest.fixture(scope="module")
def undisturbed(base, items, tokenizer, tmp_path_factory):
    run, folder = run_of(short(accumulate=2)), tmp_path_factory.mktemp("whole")
    whole = run_train(run, items, base, folder, tokenizer)
    assert whole.batches >= 8
    return run, folder, whole


class Killed(BaseException):
    pass


def kill_at(patch, name, number):
    place = module if hasattr(module, name) else checkpoints
    real, calls = getattr(place, name), [0]

    def count(*arguments, **options):
        calls[0] += 1
        if calls[0] == number:
            raise Killed
        return real(*arguments, **options)

    patch.setattr(place, name, count)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("where", "number", "left"),
    [
        ("support_loss", 2, 0),  # before the first checkpoint
        ("support_loss", 6, 4),  # in a batch, halfway between two checkpoints
        ("_commit", 2, 4),  # a checkpoint is written, but not counted
        ("_clear", 2, 8),  # it is counted, but the one before still lies there
        ("measure", 3, 8),  # all is read, nothing is finished
        ("mark_done", 1, 8),
    ],
)
def test_a_killed_run_ends_with_the_weights_of_one_that_was_not(
    base, items, tokenizer, undisturbed, tmp_path, where, number, left
):
    run, folder, whole = undisturbed
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, where, number)
        with pytest.raises(Killed):
            run_train(run, items, base, tmp_path / "killed", tokenizer)
    before = read_progress(tmp_path / "killed")
    assert (before.batches, before.done) == (left, False)
    again = run_train(run, items, base, tmp_path / "killed", tokenizer)
    assert again._replace(seconds=0) == whole._replace(seconds=0)
    for name in FILES:
        assert (folder / name).read_bytes() == (tmp_path / "killed" / name).read_bytes(), name
    names = {path.name for path in (tmp_path / "killed").iterdir()}
    assert names == {*FILES, "config.json", HELD_BACK, HARDWARE, "progress.json", CURVE}


@pytest.mark.heavy
def test_nothing_to_train_on(base, tokenizer, tmp_path):
    with pytest.raises(SettingsError, match="one: the stage has no item"):
        run_train(run_of(short()), [], base, tmp_path / "one", tokenizer)


@pytest.mark.heavy
def test_where_all_have_one_label_nothing_is_ranked(base, items, tokenizer):
    network = start_network(base, run_of(short()))
    right = [item for item in items if item.supported][:20]
    assert measure(
        network, [collate(one, pad_id(tokenizer)) for one in batches(right, 512, None)]
    ) == {
        "claims": {"all": [20, None], "membership": [20, None]},
        "tokens": [20, None],
        "conflicts": [0, None],
    }
    nothing = {"claims": {}, "tokens": [0, None], "conflicts": [0, None]}
    assert measure(network, []) == nothing


def test_the_rate_rises_and_falls_from_the_start():
    shares = (0, 0.05, 0.1, 0.55, 1, 1.2)
    assert [_rate(done, 0.1) for done in shares] == pytest.approx([0, 0.5, 1, 0.5, 0, 0])
    assert _rate(0, 0) == 1
    assert read_progress(Path("none")) == Progress()
