"""A chat model in this process, by Hugging Face Transformers.

The weights are safetensors and no code of the model's own is run. A JSON Schema is enforced by
xgrammar, which masks what it does not allow and at most one blank between JSON's parts: a weak
model could otherwise go on in white space until its tokens are used up. Logprobs are those after
this mask and before the temperature, as in vLLM.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..contract.types import JudgeError
from .base import BackendError, ChatReply, ChatRequest, MissingExtra
from .guesses import Guesser, guess_replies
from .local import check_template, encode_prompt
from .pretrained import Pretrained, run_safely, tokenizer_source
from .replies import TOP, Step, aligned, faulty, spell


@dataclass(frozen=True)
class _Job:
    """A prepared request: position, prompt, tokens it may take, grammar, guesses at its reply."""

    index: int
    request: ChatRequest
    prompt: list[int]
    limit: int
    grammar: Any
    guesses: list[list[int]]


class TransformersBackend(Pretrained):
    """Completes chats with a local model, greedily at temperature 0.

    With `batch=1` a reply depends on nothing but its own request. In larger batches greedy requests
    are padded on the left to one length, which changes the last bits of their logits and so, now
    and then, a reply; sampled ones run alone all the same, since one random stream serves a batch.
    """

    def __init__(self, model: str, **options: Any) -> None:
        """Load the model; arguments and errors as of `Pretrained`, and xgrammar is needed."""
        try:
            import xgrammar
            from transformers import AutoTokenizer, GenerationConfig
            from xgrammar.contrib.hf import LogitsProcessor
        except ImportError as error:
            raise MissingExtra("the transformers backend", "transformers") from error
        super().__init__(model, **options)
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(**tokenizer_source(model))
        except Exception as error:  # whatever a broken checkpoint makes the libraries raise
            raise BackendError(f"cannot load {model}: {error}") from error
        check_template(self._tokenizer, model)
        self._enforce = LogitsProcessor
        self._stops = _stop_tokens(self._model, self._tokenizer)
        # The checkpoint's own sampling defaults (top-k, repetition penalty) are ignored.
        self._model.generation_config = GenerationConfig(
            eos_token_id=self._stops, pad_token_id=self._stops[0]
        )
        self._guesser = Guesser(self._model, self._stops)
        self._grammars = xgrammar.GrammarCompiler(
            xgrammar.TokenizerInfo.from_huggingface(
                self._tokenizer,
                vocab_size=self._model.config.get_text_config().vocab_size,
                stop_token_ids=self._stops,
            )
        )

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """Complete the requests, `batch` at a time."""
        replies: dict[int, ChatReply] = {}
        jobs = []
        for index, request in enumerate(requests):
            job = self._prepare(index, request)
            if isinstance(job, JudgeError):
                replies[index] = faulty(job)
            else:
                jobs.append(job)
        with self._lock:
            for group in _groups(jobs, self._batch):
                done = run_safely(self._generate, group, faulty)
                replies |= {job.index: reply for job, reply in zip(group, done, strict=True)}
        return [replies[index] for index in range(len(requests))]

    def _prepare(self, index: int, request: ChatRequest) -> _Job | JudgeError:
        prompt = encode_prompt(self._tokenizer, request, self.positions)
        if isinstance(prompt, JudgeError):
            return prompt
        grammar, guesses = None, []
        if request.schema is not None:
            try:
                grammar = self._grammars.compile_json_schema(
                    json.dumps(request.schema), max_whitespace_cnt=1
                )
            except RuntimeError as error:
                return JudgeError(code="backend", message=f"the schema is not supported: {error}")
            guesses = [
                [*self._tokenizer.encode(text, add_special_tokens=False), self._stops[0]]
                for text in guess_replies(request.schema)
            ]
        limit = min(request.max_tokens, self.positions - len(prompt))
        return _Job(index, request, prompt, limit, grammar, guesses)

    def _generate(self, group: list[_Job]) -> list[ChatReply]:
        """Generate replies to the group, whose requests are of one kind."""
        first = group[0]
        processors: list[Callable[[Any, Any], Any]] = []
        if first.grammar is not None:
            processors.append(self._enforce([job.grammar for job in group]))
        watch = _Watch()
        if first.request.logprobs:
            processors.append(watch)
        guessed = first.guesses and self._guesser.works and first.request.temperature == 0
        if guessed and len(group) == 1:
            rows = [self._guesser.complete(first.prompt, first.guesses, first.limit, processors)]
        else:
            rows = self._sample(group, processors)
        steps = watch.steps(self._torch.tensor(rows)) if first.request.logprobs else None
        return [
            self._reply(job, row, None if steps is None else steps[place])
            for place, (job, row) in enumerate(zip(group, rows, strict=True))
        ]

    def _sample(
        self, group: list[_Job], processors: list[Callable[[Any, Any], Any]]
    ) -> list[list[int]]:
        """Return the tokens of each reply, as many for each."""
        torch, first = self._torch, group[0].request
        width = max(len(job.prompt) for job in group)
        padding = [width - len(job.prompt) for job in group]
        ids = [[self._stops[0]] * pad + job.prompt for pad, job in zip(padding, group, strict=True)]
        mask = [[0] * pad + [1] * (width - pad) for pad in padding]
        sampling: dict[str, Any] = {"do_sample": False}
        if first.temperature > 0:
            sampling = {"do_sample": True, "temperature": first.temperature, "top_k": 0}
        with _seeded(torch, first, self._model.device):
            output = self._model.generate(
                input_ids=torch.tensor(ids, device=self._model.device),
                attention_mask=torch.tensor(mask, device=self._model.device),
                max_new_tokens=max(job.limit for job in group),
                logits_processor=processors,
                **sampling,
            )
        rows: list[list[int]] = output[:, width:].tolist()
        return rows

    def _reply(self, job: _Job, row: list[int], steps: list[Step] | None) -> ChatReply:
        end = next((place for place, token in enumerate(row) if token in self._stops), len(row))
        kept = row[: min(end, job.limit)]
        text = self._decode(kept)
        tokens = None
        if steps is not None:
            name = self._tokenizer.convert_ids_to_tokens
            tokens = aligned(list(spell(self._decode, name, kept, steps)), text)
        return ChatReply(
            text=text,
            finish="stop" if end < job.limit else "length",
            input_tokens=len(job.prompt),
            output_tokens=min(end + 1, len(row), job.limit),
            tokens=tokens,
        )

    def _decode(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text


class _Watch:
    """Notes the likeliest tokens of each step: a logits processor that leaves them as they are."""

    def __init__(self) -> None:
        self._noted: list[tuple[Any, Any, Any]] = []
        self._logprobs: Any = None

    def __call__(self, ids: Any, scores: Any) -> Any:
        """Record the scores of shape (batch, vocabulary) for the token after `ids`."""
        if self._logprobs is not None:
            self._note(ids[:, -1])
        self._logprobs = scores.float().log_softmax(-1)
        return scores

    def _note(self, chosen: Any) -> None:
        likely = self._logprobs.topk(min(TOP, self._logprobs.shape[-1]))
        logprob = self._logprobs.gather(-1, chosen[:, None])
        self._noted.append(
            (logprob[:, 0].tolist(), likely.indices.tolist(), likely.values.tolist())
        )

    def steps(self, output: Any) -> list[list[Step]]:
        """Return the steps seen for each row of `output`, shape (batch, tokens generated)."""
        self._note(output[:, -1])
        return [
            [
                (logprobs[row], list(zip(likely[row], values[row], strict=True)))
                for logprobs, likely, values in self._noted
            ]
            for row in range(output.shape[0])
        ]


def _stop_tokens(model: Any, tokenizer: Any) -> list[int]:
    """Return every token that ends a reply: the tokenizer's, and those of the generation config."""
    configured = model.generation_config.eos_token_id
    several = configured if isinstance(configured, list) else [configured]
    return list(dict.fromkeys(i for i in (tokenizer.eos_token_id, *several) if i is not None))


@contextmanager
def _seeded(torch: Any, request: ChatRequest, device: Any) -> Iterator[None]:
    """Sample from the request's own random stream, if any, and leave the global one untouched."""
    if request.temperature == 0 or request.seed is None:
        yield
        return
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(request.seed)
        yield


def _groups(jobs: list[_Job], batch: int) -> Iterator[list[_Job]]:
    """Yield greedy requests in groups of similar kind and length, sampled ones alone."""
    kinds = defaultdict(list)
    for job in sorted(jobs, key=lambda job: len(job.prompt)):
        if job.request.temperature > 0:
            yield [job]
        else:
            kinds[job.grammar is None, job.request.logprobs].append(job)
    for kind in kinds.values():
        for start in range(0, len(kind), batch):
            yield kind[start : start + batch]
