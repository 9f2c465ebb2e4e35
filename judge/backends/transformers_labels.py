"""Labels scored in this process, by Hugging Face Transformers and PEFT.

Nothing is generated: one pass over the prompt, and logits at the places asked for alone. Requests
of several adapters go through the model in one batch: its weights are computed with once for all,
each row's low-rank part apart. What attention keeps of a text (keys and values) is not shared among
adapters, since theirs change both from the first layer on.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .base import BackendError, MissingExtra
from .labels import LabelReply, LabelRequest, faulty
from .pretrained import ADAPTER_WEIGHTS, Pretrained, run_safely

_BASE = "__base__"  # PEFT's name of the model without adapter


class TransformersLabels(Pretrained):
    """Scores labels with a local model and any number of its adapters.

    With `batch=1` a reply depends on nothing but its own request. In larger batches requests are
    padded on the left to one length, which changes the last bits of their logprobs.
    """

    _adapters = 0

    def attach(self, name: str, folder: Path) -> str:
        """Load an adapter beside those already loaded.

        Raises:
            MissingExtra: PEFT is missing.
            BackendError: it cannot be loaded onto this model.
        """
        try:
            from peft import PeftModel
        except ImportError as error:
            raise MissingExtra("adapters", "train") from error
        if not (folder / ADAPTER_WEIGHTS).is_file():
            raise BackendError(f"{name}: there is no {ADAPTER_WEIGHTS} in {folder}")
        handle = f"head-{self._adapters}"
        with self._lock:
            try:
                if self._adapters == 0:
                    self._model = PeftModel.from_pretrained(self._model, folder, handle).eval()
                else:
                    self._model.load_adapter(folder, handle)
                    self._model.eval()
            except Exception as error:  # whatever a foreign adapter makes the libraries raise
                raise BackendError(f"{name}: cannot load the adapter {folder}: {error}") from error
            self._adapters += 1
        return handle

    def score(self, requests: Sequence[LabelRequest]) -> list[LabelReply]:
        """Score the requests, `batch` at a time, those of like length together."""
        replies: dict[int, LabelReply] = {}
        order = sorted(range(len(requests)), key=lambda index: len(requests[index].prompt))
        with self._lock:
            for start in range(0, len(order), self._batch):
                group = order[start : start + self._batch]
                scored = run_safely(self._score, [requests[index] for index in group], faulty)
                replies |= dict(zip(group, scored, strict=True))
        return [replies[index] for index in range(len(requests))]

    def _score(self, group: list[LabelRequest]) -> list[LabelReply]:
        torch = self._torch
        width = max(len(request.prompt) for request in group)
        padding = [width - len(request.prompt) for request in group]
        rows = zip(padding, group, strict=True)
        ids = torch.tensor([[0] * pad + list(request.prompt) for pad, request in rows])
        mask = (torch.arange(width)[None, :] >= torch.tensor(padding)[:, None]).long()
        # The token due after a beginning is scored at the column of that beginning's last token.
        columns = [
            [pad + place - 1 for place in request.places]
            for pad, request in zip(padding, group, strict=True)
        ]
        kept = sorted({column for row in columns for column in row})
        device = self._model.device
        inputs: dict[str, Any] = {
            "input_ids": ids.to(device),
            "attention_mask": mask.to(device),
            "position_ids": (mask.cumsum(-1) - 1).clamp(min=0).to(device),
            "logits_to_keep": torch.tensor(kept, device=device),
            "use_cache": False,
        }
        if self._adapters:
            inputs["adapter_names"] = [request.adapter or _BASE for request in group]
        with torch.inference_mode():
            logprobs = self._model(**inputs).logits.float().log_softmax(-1)
        replies = []
        for index, request in enumerate(group):
            at = [kept.index(column) for column in columns[index]]
            picked = logprobs[index, at][:, list(request.labels)].tolist()
            values = tuple(tuple(row) for row in picked)
            replies.append(LabelReply(values, calls=1, input_tokens=len(request.prompt)))
        return replies
