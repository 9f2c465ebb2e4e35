import httpx
import pytest

from moonlynx import Example, load_judge
from moonlynx.judge.contract.spec import parse_spec
from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.loading import load_metric
from moonlynx.serve.vllm.choose import choose

from ...conftest import START_LIMIT
from ..loopback import EXAMPLE
from .real import MODEL, moonlynx_serve, needs_vllm, until_ready, write_deployment

pytestmark = [pytest.mark.heavy, needs_vllm]

METRICS = ("context_adherence", "toxicity", "pii")
TEXT = {"input": "Call me.", "output": "You fool, on 555 0199."}


@pytest.fixture(scope="module")
def gateway(tiny_llama, heads, tmp_path_factory):
    folder = tmp_path_factory.mktemp("vllm")
    adapters = ", ".join(f"{name}: {path}" for name, path in heads.items() if name in METRICS)
    lora = f"lora: {{rank: 16, at_once: 3, adapters: {{{adapters}}}}}\n"
    path, log = write_deployment(folder, tiny_llama, lora), folder / "serve.log"
    options = ["--vllm", str(path), "--judge", "luna2:context_adherence"]
    options += ["--metric", "luna2:toxicity", "--metric", "luna2:pii"]
    with (
        moonlynx_serve(log, *options, "--timeout", str(START_LIMIT)) as (server, address),
        httpx.Client(base_url=address, timeout=START_LIMIT) as http,
    ):
        assert http.get("/readyz").json()["error"]["message"] == "vLLM is starting"
        http.early = http.post("/v1/judge", json=EXAMPLE)
        until_ready(server, address, log)
        http.deployment = str(path)
        yield http


def test_heads_judge_and_measure_as_they_do_in_this_process(gateway, heads):
    assert gateway.early.status_code == 200
    here = load_judge(f"luna2:{heads['context_adherence']}")([Example.from_row(EXAMPLE)])[0]
    for reply in (gateway.early, gateway.post("/v1/judge", json=EXAMPLE)):
        verdict = reply.json()
        assert verdict["error"] is None
        assert verdict["raw_score"] == pytest.approx(here.raw_score, abs=0.01)
        assert verdict["judge"] == here.judge.model_dump()
    assert gateway.get("/v1/metrics").json() == ["toxicity", "pii"]
    for name in ("toxicity", "pii"):
        found = gateway.post(f"/v1/metrics/{name}", json=TEXT).json()
        (here,) = load_metric(f"luna2:{heads[name]}@transformers")([MetricInput(**TEXT)])
        assert found["error"] is None
        assert found["labels"] == pytest.approx(here.labels, abs=1e-3)


def test_an_adapter_of_a_chat_model_judges_by_its_name(gateway):
    """Of the same vLLM: a random adapter on a random model, so that only its scores differ."""
    raw = {}
    for name in ("toxicity", MODEL):
        wanted = parse_spec(f"lynx:{name}?reply=score")
        deployment, asking = choose(wanted, gateway.deployment, None)
        assert (deployment.served_name, asking.model) == (MODEL, name)
        (verdict,) = load_judge(str(asking))([Example.from_row(EXAMPLE)])
        assert verdict.error is None
        raw[name] = verdict.raw_score
    assert raw["toxicity"] != raw[MODEL]
