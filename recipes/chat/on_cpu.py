"""TRL's trainer on a CPU, which computes nothing that the loss does not depend on.

- Logits where a reply is learned, and nowhere else. TRL 1.16 does so by a kernel for GPUs; without
  it, it works through those of the whole prompt.
- What rows begin with once: the instructions that all of them share, and a document that several
  answers are judged by. Rows are a tree in one sequence, and a token sees those that lead to it.
- No padding.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from peft import PeftModel
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.utils.data import Sampler
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from trl.trainer.sft_trainer import SFTTrainer


class Row(NamedTuple):
    """A row of a tree: l tokens, the last k of which no row before it has."""

    path: Tensor  # (l,), places of its tokens
    own: int  # k
    sees: Tensor | None  # (k, l), whether one of the k attends to one of the l; None if k is l


class Packed(NamedTuple):
    """Rows as a tree, in one sequence of n tokens, each row's own behind those of the last."""

    tokens: Tensor  # (1, n)
    positions: Tensor  # (1, n), as if each row stood alone
    rows: list[Row]
    before: Tensor  # (m,), places of the tokens before those that are learned
    learned: Tensor  # (m,), these


def pack(ids: Tensor, real: Tensor, labels: Tensor) -> Packed:
    """Pack a batch that is padded at the right; `labels` are -100 where nothing is learned."""
    real = real.bool()
    known = real & (labels == -100)
    alike = (ids[:, None] == ids) & known[:, None] & known
    alike = alike.long().cumprod(dim=-1).bool() | torch.eye(len(ids), dtype=torch.bool)[..., None]
    owner = alike.long().argmax(dim=1)  # of each token, the first row that has it and all before
    rows, columns = torch.meshgrid(*map(torch.arange, ids.shape), indexing="ij")
    kept = real & (owner == rows)
    places = (kept.flatten().cumsum(dim=0).view(ids.shape) - 1)[owner, columns]
    paths = [path[here] for path, here in zip(places, real, strict=True)]
    learned = labels[:, 1:] != -100
    return Packed(
        tokens=ids[kept][None],
        positions=columns[kept][None],
        rows=[_row(path, int(own)) for path, own in zip(paths, kept.sum(dim=1), strict=True)],
        before=places[:, :-1][learned],
        learned=labels[:, 1:][learned],
    )


def _row(path: Tensor, own: int) -> Row:
    sees = torch.ones((own, len(path)), dtype=torch.bool).tril(len(path) - own)
    return Row(path, own, None if own == len(path) else sees)


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _: None,
    rows: Sequence[Row],
    **options: Any,
) -> tuple[Tensor, None]:
    """Let each row's own tokens (1, heads, k, width) attend to its path: (1, n, heads, width)."""
    found = []
    for own, row in zip(query.split([row.own for row in rows], dim=2), rows, strict=True):
        path = key[:, :, row.path], value[:, :, row.path]
        found.append(sdpa_attention_forward(module, own, *path, row.sees, **options)[0])
    return torch.cat(found, dim=1), None


AttentionInterface.register("moonlynx-tree", attend)


class DocumentSampler(Sampler[int]):  # type: ignore[misc]
    """Draws the order of rows anew each epoch, but those of one document follow each other.

    Rows are of one document if they have a quarter in common, from where not all rows are alike;
    no more than `most` follow each other.
    """

    def __init__(self, rows: Iterable[Sequence[Any]], most: int, seed: int) -> None:
        self.most, self.seed, self.epoch = most, seed, 0
        read: list[Any] = list(rows)  # as tokens or text
        order = sorted(range(len(read)), key=read.__getitem__)
        shared = _alike(read[order[0]], read[order[-1]])
        self.documents = [[order[0]]]
        for last, row in pairwise(order):
            alike = _alike(read[last], read[row]) - shared
            if 4 * alike < len(read[row]) - shared:
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


def _alike(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how many tokens two rows begin with in common."""
    differ = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


def _causal(model: Any) -> Any:
    return model.get_base_model() if isinstance(model, PeftModel) else model


class ReplyTrainer(SFTTrainer):
    """`SFTTrainer` for one process and decoders with rotary positions, without its metrics."""

    def __init__(self, model: Any, **options: Any) -> None:
        _causal(model).set_attn_implementation("moonlynx-tree")
        super().__init__(model, **options)

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        if self.args.train_sampling_strategy == "sequential":  # of a trial
            return super()._get_train_sampler(train_dataset)
        rows = self.train_dataset if train_dataset is None else train_dataset
        return DocumentSampler(rows["input_ids"], self.args.train_batch_size, self.args.seed)

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the cross-entropy of the labelled tokens, on the mean over the step's."""
        causal = _causal(model)
        packed = pack(inputs["input_ids"], inputs["attention_mask"], inputs["labels"])
        with self.accelerator.autocast():  # which accelerate puts around the whole model alone
            outputs = causal.base_model(
                input_ids=packed.tokens,
                position_ids=packed.positions,
                rows=packed.rows,
                use_cache=False,
            )
            logits = causal.get_output_embeddings()(outputs.last_hidden_state[0, packed.before])
        total = cross_entropy(logits.float(), packed.learned, reduction="sum")
        loss = total / (len(packed.learned) if num_items_in_batch is None else num_items_in_batch)
        return (loss, outputs) if return_outputs else loss
