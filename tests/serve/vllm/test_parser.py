"""Every deployment's command, read by vLLM's own parser of arguments."""

import pytest

from moonlynx.serve.vllm.deployment import bundled, read_deployment

from .real import needs_vllm

pytestmark = [
    pytest.mark.heavy,
    needs_vllm,
    # Of vLLM's and torch's own imports.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def parse():
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = make_arg_parser(FlexibleArgumentParser())
    return lambda deployment: parser.parse_args(list(deployment.command()[3:]))


@pytest.mark.parametrize("name", sorted(bundled()))
def test_vllm_reads_what_the_deployment_says(parse, name):
    deployment = read_deployment(name)
    found = parse(deployment)
    assert found.model == deployment.model
    assert found.served_model_name == [deployment.name]
    assert (found.host, found.port) == ("127.0.0.1", 8001)
    assert found.tensor_parallel_size == deployment.gpus
    assert found.gpu_memory_utilization == deployment.memory_share
    assert found.max_model_len == deployment.max_model_len
    assert found.max_num_seqs == deployment.requests
    assert found.max_num_batched_tokens == deployment.batched_tokens
    assert found.enable_prefix_caching is True
    assert found.structured_outputs_config.backend == "xgrammar"
    assert found.structured_outputs_config.disable_any_whitespace is True
    assert found.trust_remote_code is False
    assert found.quantization == {"fp8": "fp8_per_tensor"}.get(deployment.precision)
    adapters = deployment.lora.adapters if deployment.lora else {}
    assert {one.name: one.path for one in found.lora_modules or ()} == adapters
    assert bool(found.enable_lora) is bool(adapters)
