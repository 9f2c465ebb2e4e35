"""Labels scored in this process by vLLM's offline engine, with its LoRA adapters."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..contract.types import JudgeError
from .base import BackendError
from .labels import LabelReply, LabelRequest, faulty
from .local import find_model
from .options import flag, one_of, read_options, whole
from .vllm import PRECISIONS, start_engine

_RANK = 16  # of the adapters: Luna-2's


class VLLMLabels:
    """Scores labels with vLLM's offline engine, all requests of a call at once.

    A request of several places is computed as the prompt's beginnings, of which the prefix cache
    computes each token once for one adapter. Logprobs can differ in their last bits with what else
    is in the batch; on GPUs that vLLM supports it so, VLLM_BATCH_INVARIANT=1 rules that out.
    """

    def __init__(
        self,
        model: str,
        *,
        tensor_parallel: int = 1,
        max_model_len: int | None = None,
        dtype: str = "auto",
        eager: bool = False,
        adapters: int = 8,
    ) -> None:
        """Start the engine.

        Args:
            model: a folder or a Hub id.
            tensor_parallel: GPUs that share the model.
            max_model_len: tokens that a prompt may have, and one more. None: as many as the model
                can.
            dtype: "bfloat16", "float16", "float32", or "auto": the checkpoint's own.
            eager: start without compiling the model: up sooner, slower from then on.
            adapters: how many the engine keeps in a batch; more are taken in turn.

        Raises:
            MissingExtra: vLLM is missing.
            BackendError: the engine does not start; says why.
        """
        engine = start_engine(
            model,
            tensor_parallel_size=tensor_parallel,
            max_model_len=max_model_len,
            dtype=dtype,
            enforce_eager=eager,
            enable_lora=True,
            max_lora_rank=_RANK,
            max_loras=adapters,
        )
        self._llm = engine.llm
        self.name = f"{model}@vllm"
        self.positions: int = self._llm.model_config.max_model_len
        self._adapters: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._lora_request = engine.lora_request
        self._sampling_params = engine.sampling_params
        self._refusals = engine.refusals

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
        with self._lock:
            faults = [self._enqueue(request) for request in requests]
            outputs = self._llm.wait_for_completion(use_tqdm=False)
        sent = sum(
            len(request.places)
            for request, fault in zip(requests, faults, strict=True)
            if fault is None
        )
        # Outputs come in the order of their requests, after any that an interrupted call left.
        mine = iter(outputs[len(outputs) - sent :])
        return [
            _reply([next(mine) for _ in request.places], request)
            if fault is None
            else faulty(fault)
            for request, fault in zip(requests, faults, strict=True)
        ]

    def _enqueue(self, request: LabelRequest) -> JudgeError | None:
        """Submit the request to the engine, or return why it cannot be submitted."""
        if len(request.prompt) >= self.positions:
            message = f"the prompt has {len(request.prompt)} tokens; it may have {self.positions}"
            return JudgeError(code="too_long", message=message)
        parameters = self._sampling_params(
            temperature=0.0, max_tokens=1, logprob_token_ids=list(request.labels)
        )
        adapter = None if request.adapter is None else self._adapters[request.adapter]
        prompts = [{"prompt_token_ids": list(request.prompt[:place])} for place in request.places]
        try:
            self._llm.enqueue(prompts, parameters, lora_request=adapter, use_tqdm=False)
        except self._refusals as error:
            return JudgeError(code="backend", message=str(error)[:500])
        return None


def load(model: str, options: Mapping[str, str]) -> VLLMLabels:
    """Start the engine for a model by path or Hub id.

    Raises:
        SpecError: an option is unknown or has a wrong value.
        MissingExtra: vLLM is missing.
        BackendError: the engine does not start.
    """
    readers = {
        "tensor_parallel": whole(1),
        "max_model_len": whole(1),
        "dtype": one_of(*PRECISIONS),
        "eager": flag,
        "adapters": whole(1),
    }
    return VLLMLabels(find_model("vllm", model), **read_options("vllm", options, readers))


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
