"""Labels scored by vLLM's OpenAI-compatible server, each adapter under a model name of its own.

The server is started with `--enable-lora --lora-modules NAME=FOLDER ...`. It is asked for the
logprobs of the label tokens alone (`logprob_token_ids`), after prompts that are token ids: what is
scored is to the token what was trained on. A request of several places sends the prompt's
beginnings, of which vLLM's prefix cache computes each token once for one adapter.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel, Field, ValidationError

from ..contract.types import JudgeError
from .base import BackendError
from .endpoint import OPTIONS, Endpoint, Failure, wait_for
from .labels import LabelReply, LabelRequest, faulty
from .options import one_of, read_options

_TOKEN = "token_id:"  # noqa: S105 (vLLM's way to write a token as its id)
# What a server writes for a probability of 0: JSON holds no infinity.
_LEAST = -9999.0


class OpenAILabels:
    """Scores labels at an endpoint, as many requests at once as its `concurrency` allows.

    Logprobs can differ in their last bits with what else the server is computing; vLLM, on the GPUs
    that it supports it for, rules that out when started with VLLM_BATCH_INVARIANT=1.
    """

    def __init__(self, endpoint: Endpoint, model: str, name: str, *, check: bool = True) -> None:
        """Set the endpoint and the model's name there; nothing is sent yet.

        `check` requires adapters to be among the models that the server lists.
        """
        self.name = name
        self._endpoint = endpoint
        self._model = model
        self._check = check

    @cached_property
    def _served(self) -> dict[str, int]:
        """Return the positions of each served model, by name."""
        return self._endpoint.models()

    @cached_property
    def positions(self) -> int:
        """Return the number of tokens that a prompt may have, plus one.

        Raises:
            BackendError: the server is not there, or lists no models.
        """
        # vLLM says how many for the model, and nothing for its adapters.
        return min(self._served.values(), default=1 << 30)

    def attach(self, name: str, folder: Path) -> str:  # noqa: ARG002 (the server has its own copy)
        """Return the name the adapter is served by, which is the metric's own.

        Raises:
            BackendError: nothing is served by that name; as `positions` does.
        """
        if self._check and name not in self._served:
            raise BackendError(
                f"{self.name} serves {', '.join(self._served)}, but no {name}; start vLLM with "
                f"--enable-lora --lora-modules {name}=FOLDER"
            )
        return name

    def score(self, requests: Sequence[LabelRequest]) -> list[LabelReply]:
        """Score the requests; within a running event loop, in a thread of its own."""
        return wait_for(self._score(requests))

    async def _score(self, requests: Sequence[LabelRequest]) -> list[LabelReply]:
        replies: list[LabelReply | None] = [None] * len(requests)
        by_labels: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for index, request in enumerate(requests):
            by_labels.setdefault((len(request.places), request.labels), []).append(index)
        for (places, labels), indices in by_labels.items():
            answers = await self._endpoint.post_all(
                "/completions",
                [self._payload(requests[index]) for index in indices],
                partial(_read, places=places, labels=labels),
            )
            for index, answer in zip(indices, answers, strict=True):
                replies[index] = faulty(answer) if isinstance(answer, JudgeError) else answer
        return [reply for reply in replies if reply is not None]

    def _payload(self, request: LabelRequest) -> dict[str, Any]:
        return {
            "model": request.adapter or self._model,
            "prompt": [list(request.prompt[:place]) for place in request.places],
            "max_tokens": 1,
            "temperature": 0.0,
            "logprobs": 1,
            "logprob_token_ids": list(request.labels),
            "return_tokens_as_token_ids": True,
        }


def load(url: str, model: str, options: Mapping[str, str]) -> OpenAILabels:
    """Connect to an endpoint; with the option `check=later`, to one that may still be starting."""
    values = read_options(url, options, OPTIONS | {"check": one_of("now", "later")})
    check = values.pop("check", "now") == "now"
    labels = OpenAILabels(Endpoint(url, **values), model, f"{model}@{url}", check=check)
    if check:
        _ = labels.positions
    return labels


class _Logprobs(BaseModel):
    top_logprobs: list[dict[str, float]] = Field(min_length=1)


class _Choice(BaseModel):
    index: int
    logprobs: _Logprobs


class _Usage(BaseModel):
    prompt_tokens: int = 0


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage = _Usage()


def _read(response: httpx.Response, *, places: int, labels: tuple[int, ...]) -> LabelReply:
    """Read the labels' logprobs at each place.

    Raises:
        Failure: there are none; names the cause that is likely.
    """
    try:
        completion = _Completion.model_validate_json(response.content)
    except ValidationError:
        raise Failure(
            "backend", f"the answer has no logprobs of tokens: {response.text[:200]}"
        ) from None
    choices = sorted(completion.choices, key=lambda choice: choice.index)
    if len(choices) != places:
        raise Failure("backend", f"the server gave {len(choices)} answers to {places} prompts")
    try:
        logprobs = tuple(
            tuple(_nats(choice.logprobs.top_logprobs[0][f"{_TOKEN}{label}"]) for label in labels)
            for choice in choices
        )
    except KeyError as error:
        raise Failure(
            "backend",
            f"the server left out the logprob of {error}; it takes a vLLM that knows "
            "logprob_token_ids",
        ) from None
    return LabelReply(logprobs, calls=places, input_tokens=completion.usage.prompt_tokens)


def _nats(logprob: float) -> float:
    return logprob if math.isfinite(logprob) else _LEAST
