"""TRL's trainer on a CPU, which computes logits where a reply is learned and nowhere else.

TRL 1.16 does so by a kernel for GPUs; without it, it works through the logits of all tokens of the
prompt as well, 40 % of a step of 1.5B over a vocabulary of 152,000.
"""

from typing import Any

from peft import PeftModel
from torch.nn.functional import cross_entropy
from trl.trainer.sft_trainer import SFTTrainer


class ReplyTrainer(SFTTrainer):
    """`SFTTrainer` for one process, without the entropy and accuracy of tokens that it logs."""

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the cross-entropy of the labelled tokens, on the mean over the step's."""
        causal = model.get_base_model() if isinstance(model, PeftModel) else model
        read = {name: value for name, value in inputs.items() if name != "labels"}
        following = inputs["labels"][:, 1:]
        learned = following != -100
        with self.accelerator.autocast():  # which accelerate puts around the whole model alone
            outputs = causal.base_model(**read, use_cache=False)
            logits = causal.get_output_embeddings()(outputs.last_hidden_state[:, :-1][learned])
        total = cross_entropy(logits.float(), following[learned], reduction="sum")
        loss = total / (learned.sum() if num_items_in_batch is None else num_items_in_batch)
        return (loss, outputs) if return_outputs else loss
