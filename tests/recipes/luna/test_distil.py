import shutil
from dataclasses import replace
from itertools import permutations

import pytest

from moonlynx.eval.metrics import auroc
from moonlynx.judge.backends.encoder import load_encoder
from moonlynx.judge.backends.torch_encoder import save_network
from moonlynx.judge.files.journal import RunMismatch
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.judges.luna.inputs import find_specials
from moonlynx.judge.judges.luna.weights import (
    CONFIG_FILE,
    TOKENIZER,
    load_tokenizer,
    open_weights,
    write_manifest,
)
from moonlynx.recipes.luna.aggregation import run_encoder
from moonlynx.recipes.luna.base import start_network
from moonlynx.recipes.luna.batches import encode_items, pad_id, soft_target
from moonlynx.recipes.luna.distil import with_beliefs
from moonlynx.recipes.luna.items import Item
from moonlynx.recipes.luna.settings import Run, Stage
from moonlynx.recipes.luna.train import train

from ..tiny_base import build_base

WORDS = ("ash", "bay", "elm", "fir", "oak", "yew")
ITEMS = [
    Item(
        word, (" ".join(premise),), word in premise, "words", spans=() if word in premise else None
    )
    for premise in permutations(WORDS, 2)
    for word in WORDS[:4]
]


@pytest.mark.parametrize(
    ("supported", "teacher", "target"), [(True, 0.5, 0.75), (False, 0.5, 0.25), (None, 0.9, 0.9)]
)
def test_the_target_is_between_label_and_teacher(supported, teacher, target):
    assert soft_target(supported, teacher) == target


@pytest.mark.heavy
def test_a_student_without_labels_learns_what_its_teacher_knows(tmp_path):
    sizes = {"hidden_size": 64, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
    base = build_base(tmp_path / "base", WORDS, initializer_range=0.1, **sizes)
    tokenizer = load_tokenizer(base / TOKENIZER)
    stage = Stage(epochs=25, batch_tokens=256, lr_trunk=3e-3, lr_heads=3e-3)
    run = Run(
        base="tiny", window=32, lead=4, claim=4, precision="fp32", held_back=0.1,
        save_every=100, stages={"one": stage},
    )  # fmt: skip

    def learn(items, out):
        encoded = encode_items(items, tokenizer, find_specials(tokenizer), run.limits)
        network = start_network(base, run)
        train(run, stage, encoded, network, out, pad_id(tokenizer))
        return network

    def ranking(folder):
        encoded = encode_items(ITEMS, tokenizer, find_specials(tokenizer), run.limits)
        scored = run_encoder(load_encoder(folder, "torch"), encoded)
        return auroc([item.supported for item in ITEMS], [one.claims.max() for one in scored])

    teacher = tmp_path / "teacher"
    save_network(learn(ITEMS, tmp_path / "first"), teacher)
    shutil.copyfile(base / TOKENIZER, teacher / TOKENIZER)
    save_record(run.config(), teacher / CONFIG_FILE)
    write_manifest(teacher)

    kept, weights = tmp_path / "stage", open_weights(str(teacher), "torch")
    taught = with_beliefs(ITEMS, weights, "torch", kept)
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])  # killed while it wrote
    assert with_beliefs(ITEMS, weights, "torch", kept) == taught
    assert file.read_bytes() == whole
    with pytest.raises(RunMismatch, match="other claims"):
        with_beliefs(ITEMS[1:], weights, "torch", kept)
    assert [replace(item, teacher=None) for item in taught] == ITEMS
    assert auroc([i.supported for i in taught], [i.teacher for i in taught]) == ranking(teacher)
    unlabelled = [replace(item, supported=None, spans=None) for item in taught]
    assert ranking(teacher) > 0.9
    student = tmp_path / "student"
    save_network(learn(unlabelled, tmp_path / "second"), student)
    assert ranking(student) > 0.75
