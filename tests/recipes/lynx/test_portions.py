"""How rows are put into portions and packed, on a CPU and on a GPU."""

import pytest

from moonlynx.recipes.chat.model import load_tokenizer
from moonlynx.recipes.chat.sft import arguments_of, build_trainer
from moonlynx.recipes.lynx.chats import fit

from .test_lynx import LORA, row, tiny

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("lora", [None, LORA])
def test_a_cpu_learns_what_trl_would(tiny_llama, tmp_path, lora):
    """Loss and gradients of packed rows are those of padded ones with all logits."""
    import torch
    from trl.trainer.sft_trainer import SFTTrainer

    from moonlynx.recipes.chat.on_cpu import pack

    run = tiny(tiny_llama, precision="fp32", method="lora" if lora else "full", lora=lora)
    tokenizer = load_tokenizer(run)
    rows = [row(1), row(2, words=3, label="FAIL"), row(1, label="FAIL"), row(3)]
    chats = fit(rows, run, tokenizer).chats
    arguments = arguments_of(run, tmp_path, measured=False, tracker="none")
    trainer = build_trainer(run, tokenizer, chats, [], arguments)
    batch = trainer.data_collator([trainer.train_dataset[place] for place in range(4)])
    lengths = batch["attention_mask"].sum(dim=1)
    assert len(lengths.unique()) > 1
    packed = pack(batch["input_ids"], batch["attention_mask"], batch["labels"])
    # what rows begin with is read once: the instructions by all, a document by two of them
    prompts = batch["attention_mask"].bool() & (batch["labels"] == -100)
    known = [ids[at].tolist() for ids, at in zip(batch["input_ids"], prompts, strict=True)]
    beginnings = {tuple(ids[: end + 1]) for ids in known for end in range(len(ids))}
    assert packed.tokens.shape[1] == len(beginnings) + len(packed.learned)
    assert packed.tokens.shape[1] < lengths.sum() - 3 * 100
    trained = [each for each in trainer.model.parameters() if each.requires_grad]

    def learn(loss):
        return loss, torch.autograd.grad(loss, trained)

    counts = None, torch.tensor(40)
    found = [
        learn(trainer.compute_loss(trainer.model, dict(batch), False, count)) for count in counts
    ]
    trainer.model.get_submodule("base_model.model" if lora else "").set_attn_implementation("sdpa")
    for (loss, gradients), count in zip(found, counts, strict=True):
        whole, expected = learn(
            SFTTrainer.compute_loss(trainer, trainer.model, dict(batch), False, count)
        )
        assert loss.item() == pytest.approx(whole.item(), rel=1e-4)
        for one, other in zip(gradients, expected, strict=True):
            assert (one - other).norm() <= 1e-4 * other.norm()


def test_answers_about_one_document_are_read_together(tiny_llama, tmp_path):
    """They follow each other, no more than a batch of them, in another order each epoch."""
    run = tiny(tiny_llama, batch=4, rows_at_once=2)
    tokenizer = load_tokenizer(run)
    rows = [row(10 * (place % 5)) for place in range(30)]
    rows = [each.model_copy(update={"answer": f"{n} metres."}) for n, each in enumerate(rows)]
    chats = fit(rows, run, tokenizer).chats
    arguments = arguments_of(run, tmp_path, measured=False, tracker="none")
    sampler = build_trainer(run, tokenizer, chats, [], arguments)._get_train_sampler()
    assert sampler.most == run.rows_at_once == 2
    orders = []
    for epoch in (0, 1, 0):
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    assert orders[0] == orders[2] != orders[1]
    for order in orders:
        assert len(sampler) == 30
        assert sorted(order) == list(range(30))
        pairs = list(zip(order[::2], order[1::2], strict=True))
        assert all(one % 5 == other % 5 for one, other in pairs)
        assert [one % 5 for one, _ in pairs] != sorted(one % 5 for one, _ in pairs)


def test_rows_of_one_length_are_read_together_on_a_gpu(tiny_llama, tmp_path):
    import torch

    size = {"max_length": 2000, "batch": 8, "rows_at_once": 4}
    run = tiny(tiny_llama, **size, method="lora", lora=LORA, hardware={"gpus": 1})
    rows = [row(number, words=100 if number % 2 else 3) for number in range(64)]
    tokenizer = load_tokenizer(run)
    arguments = arguments_of(run, tmp_path, measured=False, tracker="none")
    arguments["dataloader_pin_memory"] = False  # there may be none
    trainer = build_trainer(run, tokenizer, fit(rows, run, tokenizer).chats, (), arguments)
    masks = [batch["attention_mask"] for batch in trainer.get_train_dataloader()]
    assert len(masks) == 16
    assert len({mask.shape[1] for mask in masks}) > 1
    read, padded = (sum(int(size(mask)) for mask in masks) for size in (torch.sum, torch.numel))
    assert read / padded > 0.9
