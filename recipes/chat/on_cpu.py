"""TRL's trainer on a CPU, which computes nothing that the loss does not depend on.

- Logits where a reply is learned, and nowhere else. TRL 1.16 does so by a kernel for GPUs; without
  it, it works through those of the whole prompt.
- What rows begin with once: the instructions that all of them share, and a document that several
  answers are judged by. Rows are a tree in one sequence, and a token sees those that lead to it.
- No padding.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from peft import PeftModel
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.utils.data import Sampler
from trl.trainer.sft_trainer import SFTTrainer


class Packed(NamedTuple):
    """Rows as a tree, in one sequence of n tokens."""

    tokens: Tensor  # (1, n)
    positions: Tensor  # (1, n), as if each row stood alone
    sees: Tensor  # (1, 1, n, n), whether a token (the first n) attends to another
    before: Tensor  # (m,), places of the tokens before those that are learned
    learned: Tensor  # (m,), these


def pack(ids: Tensor, real: Tensor, labels: Tensor) -> Packed:
    """Pack a batch that is padded at the right; `labels` are -100 where nothing is learned."""
    known = real.bool() & (labels == -100)
    alike = (ids[:, None] == ids) & known[:, None] & known
    alike = alike.long().cumprod(dim=-1).bool() | torch.eye(len(ids), dtype=torch.bool)[..., None]
    owner = alike.long().argmax(dim=1)  # of each token, the first row that has it and all before
    rows, columns = torch.meshgrid(*map(torch.arange, ids.shape), indexing="ij")
    kept = real.bool() & (owner == rows)
    row, column = rows[kept], columns[kept]
    places = (kept.flatten().cumsum(dim=0).view(ids.shape) - 1)[owner, columns]
    learned = labels[:, 1:] != -100
    return Packed(
        tokens=ids[kept][None],
        positions=column[None],
        sees=((column[:, None] >= column) & (owner[row][:, column] == row))[None, None],
        before=places[:, :-1][learned],
        learned=labels[:, 1:][learned],
    )


class DocumentSampler(Sampler[int]):
    """Draws the order of rows anew each epoch, but those of one document follow each other.

    Rows are of one document if they have a quarter in common, from where not all rows are alike;
    no more than `most` follow each other.
    """

    def __init__(self, ids: Sequence[Sequence[int]], most: int, seed: int) -> None:
        self.most, self.seed, self.epoch = most, seed, 0
        order = sorted(range(len(ids)), key=ids.__getitem__)
        shared = _alike(ids[order[0]], ids[order[-1]])
        self.documents = [[order[0]]]
        for last, row in pairwise(order):
            alike = _alike(ids[last], ids[row]) - shared
            if 4 * alike < len(ids[row]) - shared:
                self.documents.append([])
            self.documents[-1].append(row)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self.documents))

    def set_epoch(self, epoch: int) -> None:
        """Draw another order from now on."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        """Yield the rows' places."""
        draw = torch.Generator().manual_seed(self.seed + self.epoch)
        portions = [
            [document[place] for place in portion]
            for document in self.documents
            for portion in torch.randperm(len(document), generator=draw).split(self.most)
        ]
        for chosen in torch.randperm(len(portions), generator=draw):
            yield from portions[chosen]


def _alike(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two rows begin with in common."""
    differ = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


class ReplyTrainer(SFTTrainer):
    """`SFTTrainer` for one process and decoders with rotary positions, without its metrics."""

    def _get_train_sampler(self, train_dataset: Any = None) -> DocumentSampler:
        rows = (self.train_dataset if train_dataset is None else train_dataset)["input_ids"]
        return DocumentSampler(list(rows), self.args.train_batch_size, self.args.seed)

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the cross-entropy of the labelled tokens, on the mean over the step's."""
        causal = model.get_base_model() if isinstance(model, PeftModel) else model
        packed = pack(inputs["input_ids"], inputs["attention_mask"], inputs["labels"])
        with self.accelerator.autocast():  # which accelerate puts around the whole model alone
            outputs = causal.base_model(
                input_ids=packed.tokens,
                position_ids=packed.positions,
                attention_mask=packed.sees,
                use_cache=False,
            )
            logits = causal.get_output_embeddings()(outputs.last_hidden_state[0, packed.before])
        total = cross_entropy(logits.float(), packed.learned, reduction="sum")
        loss = total / (len(packed.learned) if num_items_in_batch is None else num_items_in_batch)
        return (loss, outputs) if return_outputs else loss
