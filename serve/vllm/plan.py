"""What a deployment takes, in words: the same lines open its YAML file and a dry run."""

import shlex
from collections.abc import Sequence

from .deployment import Deployment
from .sizing import ARITHMETIC, BANDWIDTH, GPUS, GpuKind, memory_of, throughput_of

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
