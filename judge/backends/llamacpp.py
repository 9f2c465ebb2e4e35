"""A chat model in this process, from a GGUF file, by llama.cpp (the wheel xllamacpp).

A JSON Schema is enforced by llguidance's grammar. Logprobs are the model's own, before the grammar;
where the reply chose among the words of an enum, those of these words alone.
"""

import json
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar

import httpx

from ..contract.types import JudgeError, Turn
from .base import BackendError, ChatReply, ChatRequest, MissingExtra
from .endpoint import Failure
from .gguf import bos_token, find_gguf, parts_of, read_header, special_tokens
from .grammar import json_grammar
from .hub import split_revision
from .local import break_up, fingerprint
from .openai import payload_of, read_completion
from .options import Reader, whole
from .replies import among, enum_places, faulty, log_softmax, reply_token

_CONTEXT = 8192  # Lynx's own; a model's 128,000 would take more memory than its weights

# llama.cpp computes a prompt in parts of so many tokens, and short parts by other kernels.
_PART = 512
_SHORT = 16

_DEEP = 4096  # alternatives looked through for the words of an enum


class LlamaCppBackend:
    """Completes chats with a GGUF file, `batch` requests at a time.

    With `batch=1` on a CPU a reply depends on nothing but its own request: what a prompt shares
    with the one before it is not computed again, except where that would change the last bits.
    In larger batches requests are computed together, which does change them.
    """

    READERS: ClassVar[Mapping[str, Reader]] = {
        "threads": whole(1),
        "context": whole(1),
        "batch": whole(1),
    }

    def __init__(
        self,
        model: str,
        *,
        threads: int | None = None,
        context: int | None = None,
        batch: int = 1,
    ) -> None:
        """Load the model.

        Args:
            model: a GGUF file, or ORG/REPO/FILE.gguf of the Hub.
            threads: of the CPU; None: one for each physical core.
            context: tokens that prompt and reply may have. None: as many as the model was trained
                for, at most 8,192.
            batch: requests computed together; each takes the memory of a context.

        Raises:
            MissingExtra: xllamacpp is missing.
            BackendError: the model cannot be loaded; says why.
        """
        try:
            import jsonschema  # noqa: F401 (replies are held to their schemas)
            import xllamacpp
        except ImportError as error:
            raise MissingExtra("the llamacpp backend", "llamacpp") from error
        path = find_gguf("llamacpp", model)
        header = read_header(path)
        if not header.get("tokenizer.chat_template"):
            raise BackendError(f"{model} has no chat template; use a model made for chat")
        trained = header.get(f"{header.get('general.architecture')}.context_length") or _CONTEXT
        self.name = f"{split_revision(model)[0]}@llamacpp"
        self.weights = fingerprint(*parts_of(path))
        self.positions: int = context or min(trained, _CONTEXT)
        self._batch = batch
        self._special = special_tokens(header)
        self._key = secrets.token_urlsafe(32)
        self._bos = bos_token(header)
        self._last: tuple[Turn, ...] | None = None
        self._lock = threading.Lock()
        try:
            self._server = xllamacpp.Server(
                _parameters(xllamacpp, str(path), self._key, threads, self.positions, batch)
            )
            # Freed before its loop runs it would hang; the loop answers this, and computes nothing.
            self._http("GET", "/lora-adapters")
        except Exception as error:  # whatever a broken file makes the library raise
            raise BackendError(f"llama.cpp cannot load {model}: {error}") from error

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """Complete the requests, `batch` at a time."""
        if self._batch == 1:
            with self._lock:
                return [self._complete(request) for request in requests]
        with ThreadPoolExecutor(self._batch) as threads:
            return list(threads.map(self._complete, requests))

    def _complete(self, request: ChatRequest) -> ChatReply:
        try:
            answer = self._answer(request)
            reply = read_completion(answer)
            if request.schema is not None and reply.finish == "stop":
                _check_reply(reply.text, request.schema)
                reply = self._weigh_choices(reply, answer, request)
        except Failure as failure:
            return faulty(JudgeError(code=failure.code, message=str(failure)[:500]))
        except httpx.HTTPError as error:
            return faulty(JudgeError(code="backend", message=f"llama.cpp: {error}"[:500]))
        return reply

    def _answer(self, request: ChatRequest) -> dict[str, Any]:
        payload = self._payload(request)
        # The same prompt again would leave one token to compute, a conversation what was generated.
        shared = request.messages != self._last and len(request.messages) < 3
        self._last = request.messages
        answer = self._ask(payload | {"cache_prompt": shared or self._batch > 1})
        times = answer.get("timings", {})
        cached, rest = times.get("cache_n", 0), times.get("prompt_n", 0)
        if self._batch == 1 and cached and min(rest % _PART, (cached + rest) % _PART) < _SHORT:
            answer = self._ask(payload | {"cache_prompt": False})
        return answer

    def _payload(self, request: ChatRequest) -> dict[str, Any]:
        """Return the request in llama.cpp's terms, its sampling defaults overruled."""
        payload = payload_of(request)
        for message in payload["messages"]:
            message["content"] = break_up(message["content"], self._special)
        if request.schema is not None:
            _check_schema(request.schema)
            del payload["response_format"]
            payload["grammar"] = json_grammar(request.schema)
        return payload | {"samplers": ["temperature"], "repeat_penalty": 1.0, "verbose": True}

    def _ask(self, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = self._server.handle_chat_completions(payload)
        except (ValueError, RuntimeError) as error:  # as a template raises that takes no such turns
            raise Failure("backend", f"llama.cpp refuses the request: {error}") from error
        if (fault := answer.get("error")) is None:
            # The message is a parser's reading, which trims; the verbose part has what was said.
            for choice in answer["choices"]:
                choice["message"]["content"] = answer["__verbose"]["content"]
            return answer
        if fault.get("type") == "exceed_context_size_error":
            tokens = fault.get("n_prompt_tokens")
            message = f"the prompt has {tokens} tokens; prompt and reply may have {self.positions}"
            raise Failure("too_long", f"{message} (option context)")
        raise Failure("backend", f"llama.cpp refuses the request: {fault.get('message')}")

    def _http(self, method: str, path: str, **options: Any) -> Any:
        """Ask the library what its own methods do not offer."""
        return (
            httpx.request(
                method,
                f"{self._server.listening_address}{path}",
                headers={"Authorization": f"Bearer {self._key}"},
                timeout=60,
                trust_env=False,
                **options,
            )
            .raise_for_status()
            .json()
        )

    def _weigh_choices(
        self, reply: ChatReply, answer: dict[str, Any], request: ChatRequest
    ) -> ChatReply:
        """Return the reply with the enums' own tokens as alternatives where one of them began."""
        if reply.tokens is None or request.schema is None:
            return reply
        tokens = list(reply.tokens)
        for place, words in enum_places(tokens, reply.text, request.schema):
            top = among(words, tokens[place].top)
            if not all(among([word], top) for word in words):
                top = among(words, self._look_deeper(request, answer, place)) or top
            chosen, scaled = tokens[place].text, dict(log_softmax(top))
            if chosen in scaled:
                tokens[place] = reply_token(chosen, scaled.pop(chosen), scaled.items())
        return replace(reply, tokens=tuple(tokens))

    def _look_deeper(
        self, request: ChatRequest, answer: dict[str, Any], place: int
    ) -> Iterator[tuple[str, float]]:
        """Yield thousands of alternatives for one token of a reply, which takes one step more."""
        messages = self._payload(request)["messages"]
        prompt = self._http("POST", "/apply-template", json={"messages": messages})["prompt"]
        said = [token["id"] for token in answer["choices"][0]["logprobs"]["content"][:place]]
        expected = answer["usage"]["prompt_tokens"] + place
        for start in (prompt, prompt.removeprefix(self._bos)):  # llama.cpp may put one before it
            payload = {"prompt": [start, *said], "max_tokens": 1, "temperature": 0}
            found = self._server.handle_completions(payload | {"n_probs": _DEEP})
            if found.get("usage", {}).get("prompt_tokens") == expected:
                (token,) = found["choices"][0]["logprobs"]["content"]
                yield from ((one["token"], one["logprob"]) for one in token["top_logprobs"])
                return


def _parameters(
    xllamacpp: Any, path: str, key: str, threads: int | None, context: int, batch: int
) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.n_ctx = context * batch
    parameters.n_parallel = batch
    parameters.n_batch = parameters.n_ubatch = _PART
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads or -1
    # Flash attention makes a token's state depend on how many are computed with it.
    parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    parameters.cache_ram_mib = 0  # else up to 8 GiB of earlier prompts
    parameters.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
    parameters.force_pure_content_parser = True
    parameters.verbosity = -1
    parameters.warmup = False
    # The library also listens at a free port of this host, and answers there to none but itself.
    parameters.api_keys = [key]
    parameters.ui = parameters.endpoint_slots = False
    parameters.n_threads_http = 1
    return parameters


def _check_schema(schema: Mapping[str, Any]) -> None:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema).check_schema(dict(schema))
    except SchemaError as error:
        raise Failure("backend", f"the schema is not supported: {error.message}") from error


def _check_reply(text: str, schema: Mapping[str, Any]) -> None:
    """Hold a whole reply to its schema: llama.cpp ignores one that llguidance cannot compile.

    Raises:
        Failure: the reply does not obey it.
    """
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema)(schema).validate(json.loads(text))
    except (ValueError, ValidationError) as error:
        message = "llama.cpp did not hold the reply to its schema, which it may not support"
        raise Failure("backend", f"{message}: {getattr(error, 'message', error)}") from error
