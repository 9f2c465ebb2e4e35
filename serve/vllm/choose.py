"""From the command line to a deployment, the judge that asks it, and what both are in words."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from moonlynx.judge.contract.spec import JudgeSpec, Spec, parse_spec
from moonlynx.judge.metrics.loading import NAME as HEADS
from moonlynx.judge.registry import LYNX_MODEL

from .deployment import Deployment, DeploymentError, bundled, changed, read_deployment, with_shape
from .sizing import ARITHMETIC, BANDWIDTH, GPUS, GpuKind, memory_of, throughput_of


def choose(
    spec: Spec | None, name: str | None, tensor_parallel: int | None
) -> tuple[Deployment, Spec]:
    """Return the deployment to serve, and the spec of the judge that asks it by its URL.

    A judge's model is the deployment's or one of its adapters, or takes the model's place; one of
    `luna2` is the head's. A judge with a backend, or a cascade, stays as it is. Without a name,
    there is a deployment for any model.
    """
    # A judge whose model is still to be found a place.
    bare = spec if isinstance(spec, JudgeSpec) and spec.backend is None else None
    if name is not None:
        deployment = read_deployment(name)
        if deployment.lora is not None and spec is None:
            names = ", ".join(deployment.lora.adapters)
            raise DeploymentError(
                f"name the adapter that judges: --judge {HEADS}:NAME or lynx:NAME, of {names}"
            )
        known = (None, deployment.name, *_adapters(deployment))
        if bare is not None and bare.model not in known and bare.name != HEADS:
            deployment = with_shape(changed(deployment, model=bare.model, served_name=""))
    elif bare is not None and bare.name != HEADS:
        deployment = _for_model(bare.model or LYNX_MODEL)
    else:
        message = "--tensor-parallel starts vLLM for a judge's model, as in --judge lynx:MODEL"
        raise DeploymentError(f"{message}; or name a deployment by --vllm")
    if tensor_parallel is not None:
        deployment = changed(deployment, gpus=tensor_parallel)
    if spec is not None and bare is None:
        return deployment, spec
    bare = bare or JudgeSpec("lynx")
    asking = _head if bare.name == HEADS else _asking
    return deployment, asking(deployment, bare)


def metric_of(deployment: Deployment, name: str) -> str:
    """Return a metric's name, with vLLM's URL after it where its head is one of the adapters."""
    spec = parse_spec(name)
    if not isinstance(spec, JudgeSpec) or spec.name != HEADS or spec.backend is not None:
        return name
    return str(_head(deployment, spec)) if spec.model in _adapters(deployment) else name


def _adapters(deployment: Deployment) -> Mapping[str, str]:
    return deployment.lora.adapters if deployment.lora else {}


def _for_model(model: str) -> Deployment:
    """Return the deployment that ships for a model as it was published, or a plain one."""
    for name in bundled():
        found = read_deployment(name)
        if found.model == model and found.precision == "bf16":
            return found
    return with_shape(Deployment(model=model))


def _asking(deployment: Deployment, judge: JudgeSpec) -> JudgeSpec:
    # As many at once as vLLM takes; few tries, since it is up or it is gone.
    options = {"concurrency": str(deployment.requests), "retries": "2", **judge.options}
    name = judge.model if judge.model in _adapters(deployment) else deployment.name
    return replace(judge, model=name, backend=deployment.url, options=options)


def _head(deployment: Deployment, judge: JudgeSpec) -> JudgeSpec:
    """Return the spec of a head by its folder; vLLM has it as an adapter."""
    if deployment.lora is None or judge.model is None:
        raise DeploymentError(
            f"{judge}: write {HEADS}:HEAD, and a deployment with adapters, as in --vllm luna2-l4"
        )
    asking = _asking(deployment, judge)
    folder = deployment.lora.adapters.get(judge.model, judge.model)
    # What vLLM serves can be asked for only once it is up.
    return replace(asking, model=folder, options={"check": "later", **asking.options})


_WIDTH = 90


def describe(deployment: Deployment) -> list[str]:
    """Return memory, expected throughput and the exact command, over several lines."""
    lines = wrapped(deployment.command())
    if deployment.gpu is not None and deployment.gpus:
        lines = [*_expected(deployment, deployment.gpu), *lines]
    return lines


def wrapped(command: Sequence[str]) -> list[str]:
    """Write a command as a shell reads it, in lines of at most 92 characters where it can be."""
    lines = [""]
    for word in map(shlex.quote, command):
        if lines[-1] and len(lines[-1]) + len(word) > _WIDTH:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _expected(deployment: Deployment, kind: GpuKind) -> list[str]:
    gpu, load = GPUS[kind], deployment.load
    serving = deployment.serving(gpu.memory)
    if serving is None:
        return ["Memory and throughput are not known: the deployment gives no shape of its model."]
    memory, speed = memory_of(serving), throughput_of(serving, gpu, load)
    adapters = f"{memory.adapters:.1f} adapters, " if deployment.lora else ""
    peak = gpu.tflops_fp8 if deployment.precision == "fp8" else gpu.tflops
    return [
        f"Written for {deployment.gpus} x {kind.upper()} of {gpu.memory:g} GB.",
        f"Memory of each GPU in GB: {memory.weights:.1f} weights, {adapters}"
        f"{memory.workspace:.1f} workspace, {memory.cache:.1f} cache; in all "
        f"{serving.memory:.1f}.",
        f"The cache holds {memory.tokens:,} tokens: {memory.tokens // deployment.max_model_len} "
        f"requests of {deployment.max_model_len} tokens.",
        f"Expected, not measured: {speed.answers:.1f} answers a second, {speed.together} at once; "
        f"one alone in {speed.alone:.2f} s.",
        f"Estimated by roofline for prompts of {load.prompt} tokens and replies of {load.reply} "
        "that share no text:",
        f"reading at {ARITHMETIC:.0%} of {peak:g} TFLOPS, writing at {BANDWIDTH:.0%} of "
        f"{gpu.bandwidth:g} GB/s, of each GPU.",
    ]
