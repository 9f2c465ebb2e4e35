import os
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

import moonlynx.serve.ray
from moonlynx.judge.contract.types import BadInput, Example
from moonlynx.judge.registry import load_judge
from moonlynx.serve.ray.graph import Arguments, build

from ...conftest import VLLM_ENVIRONMENT
from ...waiting import until
from ..loopback import EXAMPLE, WRONG, free_port
from .nodes import cluster, processes

FILE = Path(moonlynx.serve.ray.__file__).with_name("serve.yaml")
APPLICATION = "moonlynx"

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, of its packages and at its end


def config(port, **args):
    """Return the file that is shipped, for a machine without a GPU and with few processors."""
    found = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    found["http_options"]["port"] = port
    found["proxy_location"] = "HeadOnly"
    found["applications"] = [one for one in found["applications"] if one["name"] == APPLICATION]
    found["applications"][0]["args"].update(args)
    for deployment in found["applications"][0]["deployments"]:
        deployment["ray_actor_options"]["num_cpus"] = 0.1
        deployment["autoscaling_config"].update(min_replicas=2, max_replicas=3)
    return found


@contextmanager
def serving(port, cpus=4):
    import ray
    from ray import serve
    from ray.serve.context import _get_global_client
    from ray.serve.schema import ServeDeploySchema

    with cluster(workers=1, cpus=cpus) as (running, _):
        ray.init(running.address, log_to_driver=False)
        try:
            serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})

            def deploy(found):
                _get_global_client().deploy_apps(
                    ServeDeploySchema.model_validate(found), _blocking=False
                )

            def state(application=APPLICATION):
                return serve.status().applications.get(application)

            yield deploy, state
        finally:
            serve.shutdown()
            ray.shutdown()


class Load:
    """Clients that ask one after the other without a pause, and keep what they got."""

    def __init__(self, address, clients=4):
        self._address = address
        self._ended = threading.Event()
        self.replies = []
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]

    def _ask(self):
        with httpx.Client(base_url=self._address, timeout=60) as client:
            while not self._ended.is_set():
                try:
                    reply = client.post("/v1/judge", json=WRONG)
                    self.replies.append((reply.status_code, reply.json()))
                except httpx.HTTPError as error:
                    self.replies.append((0, repr(error)))

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.slow
@pytest.mark.enable_socket
def test_an_update_and_a_lost_replica_under_load_fail_no_request():
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'moonlynx[ray]'")
    port = free_port()
    first, second = "token-similarity?threshold=0.3", "token-similarity?threshold=0.9"
    with serving(port) as (deploy, state):
        deploy(config(port, judge=first))
        until(lambda: state() and state().status == "RUNNING")
        address = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=address, timeout=60) as client:
            # Ray's proxies hand on the name that was asked for, wherever they listen.
            names = {"localhost": 200, "10.0.0.7": 200, "head": 200, "site.example": 421}
            for name, status in names.items():
                found = client.get("/readyz", headers={"Host": f"{name}:{port}"})
                assert found.status_code == status, name
            reply = client.post("/v1/judge", json=[EXAMPLE, WRONG, {"answer": "x"}]).json()
        alone = load_judge(first)([Example.from_row(EXAMPLE), Example.from_row(WRONG)])
        assert reply[:2] == [verdict.model_dump(mode="json") for verdict in alone]
        assert reply[2]["error"]["code"] == "bad_input"

        with Load(address) as load:
            until(lambda: len(load.replies) > 20)
            replicas = processes("ServeReplica:moonlynx:Judge")
            assert len(replicas) == 2
            os.kill(replicas[0], signal.SIGKILL)
            count = len(load.replies)
            until(lambda: len(load.replies) > count + 20)
            before = time.monotonic()
            deploy(config(port, judge=second))
            until(lambda: state().status == "RUNNING" and state().last_deployed_time_s > 0)
            until(lambda: time.monotonic() - before > 5 and state().status == "RUNNING")
            count = len(load.replies)
            until(lambda: len(load.replies) > count + 20)
        assert {status for status, _ in load.replies} == {200}, load.replies[-3:]
        wanted = load_judge(second)([Example.from_row(WRONG)])[0].model_dump(mode="json")
        assert load.replies[-1][1] == wanted


@pytest.mark.slow
@pytest.mark.enable_socket
def test_the_large_model_judges_behind_the_gateway(tiny_llama, monkeypatch):
    """Ray Serve's own vLLM application, on a processor, with random weights."""
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'moonlynx[vllm]'")
    pytest.importorskip("ray.serve.llm", exc_type=ImportError)
    for name, value in VLLM_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    port = free_port()
    found = config(port, judge=f"lynx:lynx@http://127.0.0.1:{port}/lynx/v1", timeout=240)
    found["http_options"]["request_timeout_s"] = 300
    shipped = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    (lynx,) = (one for one in shipped["applications"] if one["name"] == "lynx")
    (model,) = lynx["args"]["llm_configs"]
    model["model_loading_config"]["model_source"] = str(tiny_llama)
    model["accelerator_config"] = {"kind": "cpu"}
    model["engine_kwargs"] |= {"max_model_len": 2_048, "dtype": "float32", "enforce_eager": True}
    model["deployment_config"]["autoscaling_config"] = {"min_replicas": 1, "max_replicas": 1}
    found["applications"].append(lynx)
    with serving(port, cpus=8) as (deploy, state):
        deploy(found)
        until(lambda: all(one and one.status == "RUNNING" for one in (state(), state("lynx"))))
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
            (served,) = client.get("/lynx/v1/models").json()["data"]
            verdict = client.post("/v1/judge", json=EXAMPLE).json()
    assert served["id"] == "lynx"
    assert verdict["judge"]["name"].startswith("lynx:lynx@")
    assert verdict["usage"]["calls"] == 1
    # What random weights say is bound to the form all the same; at worst it does not end.
    assert verdict["score"] in ("PASS", "FAIL") or verdict["error"]["code"] == "truncated"


@pytest.mark.heavy
def test_the_file_is_what_ray_serve_takes():
    schema = pytest.importorskip("ray.serve.schema")
    found = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    parsed = schema.ServeDeploySchema.model_validate(found)
    assert [one.name for one in parsed.applications] == [APPLICATION, "lynx"]
    Arguments.model_validate(found["applications"][0]["args"])
    application = build(found["applications"][0]["args"])
    named = {one["name"] for one in found["applications"][0]["deployments"]}
    assert named == {"Gateway", "Judge"}
    assert application._bound_deployment.name == "Gateway"
    pytest.importorskip("ray.serve")
    with pytest.raises(BadInput, match="args, tiemout"):
        build({"tiemout": 3})
    with pytest.raises(BadInput, match="args, queue"):
        build({"queue": 0})


@pytest.mark.heavy
def test_the_large_model_is_what_ray_serves_deployment_takes():
    llm = pytest.importorskip("ray.serve.llm", exc_type=ImportError)
    found = yaml.safe_load(FILE.read_text(encoding="utf-8"))["applications"][1]
    assert found["import_path"] == "ray.serve.llm:build_openai_app"
    (one,) = found["args"]["llm_configs"]
    made = llm.LLMConfig(**one)
    assert made.model_loading_config.model_id == "lynx"
    assert made.engine_kwargs["trust_remote_code"] is False
