"""The backbone, frozen except a fresh adapter, and the loss over the class tokens alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moonlynx.judge.backends.pretrained import can_see, load_causal, nf4
from moonlynx.judge.contract.types import MoonlynxError

from .settings import Run


class BackboneNotUsable(MoonlynxError):
    """The model to train on cannot be loaded, or has none of the layers that adapters go on."""


def load_with_adapter(run: Run, backbone: Path) -> Any:
    """Load the backbone and put an adapter on it, new or a head's; nothing else is trained.

    Raises:
        BackboneNotUsable: it cannot be loaded, or takes no such adapter.
    """
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model

    dtype = torch.bfloat16 if run.precision == "bf16" else torch.float32
    options: dict[str, Any] = {"dtype": dtype, "attn_implementation": run.attention}
    if run.load == "nf4":
        options["quantization_config"] = nf4(dtype)
    try:
        model = load_causal(backbone, **options)
        if backbone.is_file():
            model.name_or_path = ""  # beside a GGUF file PEFT would miss a model's configuration
        if run.checkpointing:
            model.enable_input_require_grads()  # or frozen embeddings would end the gradient
        if run.head is not None:
            return PeftModel.from_pretrained(model, run.head, is_trainable=True)
        targets: list[str] | str = list(run.lora.targets)
        if can_see(model.config):  # only the modules that read text take a low-rank part
            targets = rf".*\.language_model\..*\.({'|'.join(targets)})"
        adapter = LoraConfig(
            r=run.lora.rank,
            lora_alpha=run.lora.alpha,
            lora_dropout=run.lora.dropout,
            target_modules=targets,
            task_type="CAUSAL_LM",
        )
        torch.manual_seed(run.seed)
        return get_peft_model(model, adapter)
    except (OSError, ValueError, ImportError) as error:
        raise BackboneNotUsable(f"backbone: cannot train on {backbone}: {error}") from None


def class_loss(logits: Any, targets: Any, weights: Any) -> Any:
    """Return the mean cross-entropy of the right answer among the classes (Luna-2, section 3.3).

    The softmax runs over the class tokens; the rest of the vocabulary has no part in it.

    Args:
        logits: of the class tokens, shape (rows, places, answers).
        targets: index of the right answer, shape (rows, places).
        weights: of each answer at each place, shape (places, answers).
    """
    logprobs = logits.float().log_softmax(-1)
    right = logprobs.gather(-1, targets[..., None])[..., 0]
    weight = weights.expand(len(targets), -1, -1).gather(-1, targets[..., None])[..., 0]
    return -(weight * right).mean()


def class_logits(model: Any, inputs: dict[str, Any], tokens: Sequence[int]) -> Any:
    """Run the model once; return the class tokens' logits, shape (rows, places, answers)."""
    kept = {name: value for name, value in inputs.items() if name != "targets"}
    return model(**kept, use_cache=False).logits[..., list(tokens)]


def trainer_class() -> type[Any]:
    """Return transformers' trainer with this loss; defined here, since its base needs torch."""
    import torch
    from transformers import Trainer

    class ClassTrainer(Trainer):  # type: ignore[misc]
        """A trainer of one decision at each place."""

        def __init__(self, *, tokens: Sequence[int], weights: list[list[float]], **options: Any):
            super().__init__(**options)
            # The loss is a mean already, and is to be divided by the accumulated portions.
            self.model_accepts_loss_kwargs = False
            self._tokens = list(tokens)
            self._weights = torch.tensor(weights)

        def compute_loss(
            self,
            model: Any,
            inputs: dict[str, Any],
            return_outputs: bool = False,
            num_items_in_batch: Any = None,  # noqa: ARG002 (transformers gives it)
        ) -> Any:
            """Return the loss, with the class logits where they are asked for."""
            logits = class_logits(model, inputs, self._tokens)
            targets = inputs["targets"]
            loss = class_loss(logits, targets, self._weights.to(logits.device))
            return (loss, {"logits": logits}) if return_outputs else loss

    return ClassTrainer
