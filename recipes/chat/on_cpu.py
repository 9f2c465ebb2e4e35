"""TRL's trainer on a CPU, which computes nothing that the loss does not depend on.

- Logits where a reply is learned, and nowhere else. TRL 1.16 does so by a kernel for GPUs; without
  it, it works through those of the whole prompt.
- What all rows of a batch begin with, the prompt's instructions, once: the rows follow it in one
  sequence, each of which sees that beginning and itself.
- No padding.
"""

from typing import Any, NamedTuple

import torch
from peft import PeftModel
from torch import Tensor
from torch.nn.functional import cross_entropy
from trl.trainer.sft_trainer import SFTTrainer


class Packed(NamedTuple):
    """Rows behind their common beginning, in one sequence of n tokens."""

    tokens: Tensor  # (1, n)
    positions: Tensor  # (1, n), as if each row stood alone
    sees: Tensor  # (1, 1, n, n), whether a token (the first n) attends to another
    before: Tensor  # (m,), places of the tokens before those that are learned
    learned: Tensor  # (m,), these


def pack(ids: Tensor, real: Tensor, labels: Tensor) -> Packed:
    """Pack a batch that is padded at the right; `labels` are -100 where nothing is learned."""
    alike = (ids == ids[0]) & real.bool() & (labels == -100)
    shared = int(alike.all(dim=0).long().cumprod(dim=0).sum())
    rows, columns = torch.meshgrid(*map(torch.arange, ids.shape), indexing="ij")
    kept = real.bool() & ((rows == 0) | (columns >= shared))
    owner = torch.where(columns < shared, -1, rows)[kept]
    place = torch.arange(len(owner))
    places = kept.flatten().cumsum(dim=0).view(ids.shape) - 1
    places[:, :shared] = place[:shared]
    learned = labels[:, 1:] != -100
    return Packed(
        tokens=ids[kept][None],
        positions=columns[kept][None],
        sees=((place[:, None] >= place) & ((owner == -1) | (owner[:, None] == owner)))[None, None],
        before=places[:, :-1][learned],
        learned=labels[:, 1:][learned],
    )


class ReplyTrainer(SFTTrainer):
    """`SFTTrainer` for one process and decoders with rotary positions, without its metrics."""

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
