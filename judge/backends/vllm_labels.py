"""Labels scored in this process by vLLM's offline engine, with its LoRA adapters."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ..contract.types import JudgeError
from .base import BackendError
from .labels import LabelReply, LabelRequest, faulty
from .options import Reader, whole
from .vllm import Engine

_RANK = 16  # of the adapters: Luna-2's


class VLLMLabels(Engine):
    """Scores labels with vLLM's offline engine, all requests of a call at once.

    A request of several places is computed as the prompt's beginnings, of which the prefix cache
    computes each token once for one adapter.
    """

    READERS: ClassVar[Mapping[str, Reader]] = {**Engine.READERS, "adapters": whole(1)}

    def __init__(self, model: str, *, adapters: int = 8, **options: Any) -> None:
        """Start the engine; arguments and errors as of `Engine`.

        Args:
            model: a folder or a Hub id.
            adapters: how many the engine keeps in a batch; more are taken in turn.
            options: of `Engine`.
        """
        super().__init__(
            model, enable_lora=True, max_lora_rank=_RANK, max_loras=adapters, **options
        )
        from vllm.lora.request import LoRARequest

        self._lora_request = LoRARequest
        self._adapters: dict[str, Any] = {}

    def attach(self, name: str, folder: Path) -> str:
        """Register an adapter; the engine loads it with the first request.

        Raises:
            BackendError: it is no adapter, or has a rank that the engine was not started for.
        """
        try:
            rank = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))["r"]
        except (OSError, ValueError, KeyError) as error:
            raise BackendError(f"{name}: {folder} holds no adapter: {error}") from None
        if rank > _RANK:
            raise BackendError(f"{name}: the adapter has rank {rank}; this backend takes {_RANK}")
        handle = f"{name}-{len(self._adapters)}"
        self._adapters[handle] = self._lora_request(
            handle, len(self._adapters) + 1, str(folder.resolve())
        )
        return handle

    def score(self, requests: Sequence[LabelRequest]) -> list[LabelReply]:
        """Score the requests, all at once."""
        return [
            faulty(found) if isinstance(found, JudgeError) else _reply(found, request)
            for request, found in zip(requests, self._run(requests, self._enqueue), strict=True)
        ]

    def _enqueue(self, request: LabelRequest) -> int | JudgeError:
        if len(request.prompt) >= self.positions:
            message = f"the prompt has {len(request.prompt)} tokens; it may have {self.positions}"
            return JudgeError(code="too_long", message=message)
        parameters = self._sampling_params(
            temperature=0.0, max_tokens=1, logprob_token_ids=list(request.labels)
        )
        adapter = None if request.adapter is None else self._adapters[request.adapter]
        prompts = [list(request.prompt[:place]) for place in request.places]
        return self._submit(prompts, sampling_params=parameters, lora_request=adapter)


def _reply(outputs: Sequence[Any], request: LabelRequest) -> LabelReply:
    logprobs = []
    for output in outputs:
        (completion,) = output.outputs
        found = completion.logprobs[0] if completion.logprobs else {}
        if any(label not in found for label in request.labels):
            message = f"the engine gave no logprobs; it ended for {completion.finish_reason!r}"
            return faulty(JudgeError(code="backend", message=message), calls=len(outputs))
        logprobs.append(tuple(found[label].logprob for label in request.labels))
    tokens = sum(len(output.prompt_token_ids) for output in outputs)
    return LabelReply(tuple(logprobs), calls=len(outputs), input_tokens=tokens)
