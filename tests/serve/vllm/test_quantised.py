"""A model in this process, in 4 and 8 bits, behind the gateway."""

import pytest

from ..loopback import EXAMPLE, WRONG, metric
from .real import moonlynx_serve
from .terse_llama import build_terse_llama

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return build_terse_llama(tmp_path_factory.mktemp("quantised") / "terse-llama")


@pytest.mark.parametrize("load", ["nf4", pytest.param("int8", marks=pytest.mark.slow)])
def test_a_quantised_model_judges_behind_the_gateway(model, tmp_path, load):
    import httpx

    name = f"lynx:{model}@transformers?load={load}"
    with moonlynx_serve(tmp_path / "log", "--judge", name, "--timeout", "300") as (_, address):
        client = httpx.Client(base_url=address, timeout=300)
        with client:
            verdicts = client.post("/v1/judge", json=[EXAMPLE, WRONG]).json()
            assert [verdict["id"] for verdict in verdicts] == ["bridge", "wrong"]
            for verdict in verdicts:
                assert verdict["score"] in ("PASS", "FAIL"), verdict
                assert verdict["reasoning"]
                assert verdict["raw_score"] is not None
                assert verdict["usage"]["output_tokens"] > 0
            assert metric(client, "moonlynx_verdicts_total", score="unscored") is None
            model_name = client.get("/v1/models").json()["data"][0]["id"]
            assert model_name == f"lynx:{model}@transformers"
