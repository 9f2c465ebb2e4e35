import threading

import httpx
import pytest
from starlette.testclient import TestClient

from moonlynx import load_judge
from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.contract.types import MetricInput, MetricVerdict
from moonlynx.judge.metrics.encoder.head import save_heads
from moonlynx.judge.metrics.encoder.metric import EncoderMetric
from moonlynx.serve.app import create_app
from moonlynx.serve.queue.batching import Batching
from moonlynx.serve.server import ServeError, load_served
from moonlynx.serve.service import Settings

from ..judge.metrics.test_heads import build
from .loopback import calling, serving

pytestmark = pytest.mark.heavy

TEXT = {"id": "a", "input": "You are a lovely person."}


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    save_heads([build("toxicity")], folder)
    return EncoderMetric("toxicity", folder)


@pytest.fixture(scope="module")
def client(metric):
    with calling(metrics=[metric]) as client:
        yield client


def test_a_verdict_is_the_metrics_own_and_it_is_served_once(client, metric):
    (own,) = metric([MetricInput(output="", **TEXT)])
    found = client.post("/v1/metrics/toxicity", json=TEXT)
    assert found.status_code == 200
    assert MetricVerdict.model_validate_json(found.content) == own
    assert own.error is None
    assert client.get("/v1/metrics").json() == ["toxicity"]
    twice = dict.fromkeys(("luna2:context_relevance", "other"), "luna2:context_relevance")
    with pytest.raises(ServeError, match=r"--metric: context_relevance is given twice"):
        load_served(twice)


@pytest.mark.parametrize(
    "name", ["toxicity", "luna2:toxicity", "luna2%3Atoxicity", "luna2:.%2Fheads%2Ftoxicity@vllm"]
)
def test_a_metric_answers_to_the_name_that_it_was_asked_for_by(metric, name):
    app = create_app(
        load_judge("token-similarity"), metrics={"luna2:./heads/toxicity@vllm": metric}
    )
    client = TestClient(app, base_url="http://localhost")
    found = client.post(f"/v1/metrics/{name}", json=TEXT)
    assert (found.status_code, found.json()["metric"]) == (200, "toxicity")
    assert client.get("/v1/metrics").json() == ["toxicity"]


def test_inputs_of_other_tools_are_read_and_a_key_twice_is_refused(client):
    named = {"id": "a", "user_input": TEXT["input"], "reference": "left aside"}
    plain = client.post("/v1/metrics/toxicity", json=TEXT)
    assert client.post("/v1/metrics/toxicity", json=named).text == plain.text
    headers = {"Content-Type": "application/json"}
    twice = b'{"input": "a", "input": "b"}'
    reply = client.post("/v1/metrics/toxicity", content=twice, headers=headers)
    assert (reply.status_code, reply.json()["error"]["param"]) == (422, "body")
    assert "has the key 'input' twice" in reply.json()["error"]["message"]


def test_a_list_keeps_its_order_and_what_cannot_be_read_has_an_error(client):
    body = [TEXT, {"output": 3}, "text", TEXT | {"id": "b"}]
    first, number, text, last = client.post("/v1/metrics/toxicity", json=body).json()
    assert (first["id"], last["id"]) == ("a", "b")
    assert first["labels"] == last["labels"]
    assert number["error"]["code"] == text["error"]["code"] == "bad_input"
    assert number["error"]["message"].startswith("output: ")
    assert "must be a JSON object, got str" in text["error"]["message"]
    counted = client.get("/metrics").text
    assert 'moonlynx_metric_verdicts_total{metric="toxicity",outcome="bad_input"}' in counted
    assert client.post("/v1/metrics/toxicity", json=[]).json() == []


@pytest.mark.parametrize(
    ("name", "body", "status", "message"),
    [
        ("rudeness", TEXT, 404, "no metric 'rudeness' is served; there are: toxicity"),
        ("toxicity", {}, 422, "input: is missing, and so is output; give one of them"),
        ("toxicity", {"input": 1}, 422, "input: "),
        ("toxicity", "text", 422, "row: must be a JSON object, got str"),
        ("toxicity", [TEXT] * 2_000, 413, "2000 rows; send at most 1024 at once"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(client, name, body, status, message):
    found = client.post(f"/v1/metrics/{name}", json=body)
    assert found.status_code == status
    assert found.json()["error"]["message"].startswith(message)


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"inputs": "text"}, "inputs", "must be an object, or a list of them"),
        ({"inputs": [TEXT], "metrics": []}, "metrics", "Tuple should have at least 1 item"),
    ],
)
def test_several_metrics_want_rows_and_at_least_one_name(client, body, param, message):
    found = client.post("/v1/metrics", json=body)
    error = found.json()["error"]
    assert (found.status_code, error["param"]) == (422, param)
    assert message in error["message"]


class Stuck:
    def __init__(self, metric, error=None):
        self.definition, self.info, self._error = metric.definition, metric.info, error
        self.called, self.gate, self._metric = threading.Event(), threading.Event(), metric

    def __call__(self, inputs):
        if self._error is not None:
            raise self._error
        self.called.set()
        assert self.gate.wait(30)
        return self._metric(inputs)


@pytest.mark.parametrize(
    ("error", "why"),
    [(BackendError("the endpoint is gone"), "the endpoint is gone"), (KeyError("x"), "KeyError")],
)
def test_a_metric_that_fails_gives_errors_and_the_server_lives(metric, error, why):
    with calling(metrics=[Stuck(metric, error)]) as client:
        found = client.post("/v1/metrics/toxicity", json=TEXT).json()
        assert found["error"] == {"code": "backend", "message": f"the metric failed: {why}"}
        assert client.get("/healthz").status_code == 200


def test_what_waits_is_bounded_and_what_takes_too_long_ends(metric):
    stuck = Stuck(metric)
    settings = Settings(batching=Batching(queue=2), timeout=1.0)
    with serving(settings=settings, metrics=[stuck]) as address:
        url = f"{address}/v1/metrics/toxicity"
        found = {}

        def ask(name):
            found[name] = httpx.post(url, json=[TEXT, TEXT], timeout=30)

        first = threading.Thread(target=ask, args=("first",))
        first.start()
        assert stuck.called.wait(30)
        refused = httpx.post(url, json=TEXT, timeout=30)
        assert refused.status_code == 429
        assert refused.headers["Retry-After"] == "1"
        first.join()
        assert found["first"].status_code == 504
        stuck.gate.set()
        # The rows that were given up leave room again.
        while (last := httpx.post(url, json=TEXT, timeout=30)).status_code == 429:
            pass
        assert last.json()["error"] is None
