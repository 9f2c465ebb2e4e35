"""The chart: rendered by Helm's own library, and held to Kubernetes' schemas."""

import json
from pathlib import Path

import pytest
import typer
import yaml
from starlette.testclient import TestClient

import moonlynx
from moonlynx import load_judge
from moonlynx.serve.app import create_app
from moonlynx.serve.cli import app
from moonlynx.serve.service import Settings

from ...cases import cases

helm = pytest.importorskip("helm_python.chart", reason="pip install helm-python-sdk")

KUBERNETES = "1.31"
FULL = yaml.safe_load(Path(__file__).with_name("full.yaml").read_text(encoding="utf-8"))
(HASH,) = FULL["keys"]
ALWAYS = {"Deployment", "Service", "PodDisruptionBudget"}


@pytest.fixture(scope="module")
def render(deploy):
    with helm.Chart.load(str(deploy / "chart")) as chart:

        def to_objects(values=None):
            chart.validate_schema(values)
            texts = chart.render(values, name="demo", namespace="judges")
            documents = [
                each
                for name, text in texts.items()
                if name.endswith(".yaml")
                for each in yaml.safe_load_all(text)
                if each
            ]
            return {(each["kind"], each["metadata"]["name"]): each for each in documents}

        yield to_objects


def gateway(objects):
    (found,) = (each for (kind, _), each in objects.items() if kind == "Deployment")
    (container,) = found["spec"]["template"]["spec"]["containers"]
    return found["spec"], container


@pytest.mark.parametrize("values", [None, FULL], ids=["as it is", "with all"])
def test_every_object_follows_its_schema(render, values):
    kubernetes = pytest.importorskip(
        "kubernetes_validate", reason="pip install kubernetes-validate"
    )
    objects = render(values)
    for (kind, _), each in objects.items():
        if kind != "ServiceMonitor":  # of the Prometheus operator, in no schema of Kubernetes
            kubernetes.validate(each, KUBERNETES, strict=True)
    more = (
        {"HorizontalPodAutoscaler"} if values is None else {"Secret", "ConfigMap", "ServiceMonitor"}
    )
    assert {kind for kind, _ in objects} == ALWAYS | more


def test_all_parts_mean_the_same_pods(render):
    objects = render(FULL)
    spec, container = gateway(objects)
    labels = spec["template"]["metadata"]["labels"].items()
    for kind in ("Service", "PodDisruptionBudget"):
        selector = objects[kind, "demo-moonlynx"]["spec"]["selector"]
        assert selector.get("matchLabels", selector).items() <= labels
    (port,) = objects["Service", "demo-moonlynx"]["spec"]["ports"]
    assert port["targetPort"] in {each["name"] for each in container["ports"]}
    volumes = {each["name"]: each for each in spec["template"]["spec"]["volumes"]}
    assert {each["name"] for each in container["volumeMounts"]} == set(volumes)
    assert ("Secret", volumes["keys"]["secret"]["secretName"]) in objects
    assert ("ConfigMap", volumes["files"]["configMap"]["name"]) in objects


def test_pods_have_no_rights_and_a_thread_for_each_core(render):
    spec, container = gateway(render())
    pod = spec["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"] == {"cpu": "2", "memory": "1Gi"}
    (one,) = container["env"]
    assert one["name"] == "OMP_NUM_THREADS"
    field = one["valueFrom"]["resourceFieldRef"]
    assert field == {"resource": "limits.cpu", "divisor": "1"}


def test_the_command_line_and_the_probes_are_the_servers_own(render):
    values = {key: FULL[key] for key in ("judge", "options", "hosts")}
    _, container = gateway(render(values))
    serve = typer.main.get_command(app).commands["serve"]
    context = serve.make_context("serve", ["--host", "0.0.0.0", *container["args"]])
    assert context.params["judge_name"] == FULL["judge"]
    assert context.params["timeout"] == 60.0
    hosts = tuple(context.params["allowed_host"])
    judge_app = create_app(load_judge("token-similarity"), Settings(hosts=hosts, exposed=True))
    paths = judge_app.openapi()["paths"]
    client = TestClient(judge_app)
    names = ("demo-moonlynx", "demo-moonlynx.judges", "demo-moonlynx.judges.svc.cluster.local")
    for host in (*names, "judge.example.org", "10.0.0.7:8000", "[fd00::7]:8000"):
        assert client.get("/healthz", headers={"Host": host}).status_code == 200, host
    assert client.get("/healthz", headers={"Host": "site.example"}).status_code == 421
    probes = {container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness")}
    assert probes == {"/healthz"}
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert {"/healthz", "/readyz", "/metrics"} <= set(paths)


def test_keys_come_from_a_secret_in_a_chart_of_this_version(render, deploy):
    objects = render(FULL)
    _, container = gateway(objects)
    assert container["args"][2:4] == ["--keys", "/keys/keys"]
    assert HASH not in json.dumps(container)
    assert objects["Secret", "demo-moonlynx-keys"]["stringData"]["keys"].split() == [HASH]
    own = render({"keys": [], "keysSecret": "mine"})
    assert not any(kind == "Secret" for kind, _ in own)
    assert gateway(own)[0]["template"]["spec"]["volumes"][-1]["secret"]["secretName"] == "mine"
    chart = yaml.safe_load((deploy / "chart" / "Chart.yaml").read_text())
    assert chart["appVersion"] == moonlynx.__version__


@pytest.mark.parametrize("wrong", cases(__file__, "wrong_values"))
def test_wrong_values_are_refused_by_name(render, wrong):
    with pytest.raises(Exception, match=next(iter(wrong))):
        render(wrong)
