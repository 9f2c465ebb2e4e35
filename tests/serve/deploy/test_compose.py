import json
import re

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from moonlynx.judge.contract.base import unscored
from moonlynx.judge.contract.types import JudgeInfo
from moonlynx.serve.counters import Counters

from ...running import run

SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


@pytest.fixture(scope="module")
def exported():
    """Return what the gateway exports once it has judged: labels by the name of the series."""
    metrics = Counters()
    metrics.on_request("POST", "/v1/judge", 200, 0.1)
    metrics.on_batch(1, 0.1)
    metrics.on_verdict(unscored(JudgeInfo(name="a", version="1"), None, "backend", "-"))
    found = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        if family.name.endswith("_created"):
            continue  # when a counter began, beside each
        for suffix in SUFFIXES[family.type]:
            name = family.name + suffix
            samples = [sample for sample in family.samples if sample.name == name]
            found[name] = {label for sample in samples for label in sample.labels}
    assert "moonlynx_queue_rows" in found
    return found


@pytest.fixture(scope="module")
def compose(deploy):
    return yaml.safe_load((deploy / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def expressions(deploy):
    dashboard = json.loads((deploy / "chart" / "dashboard.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def test_every_number_on_the_dashboard_is_exported(expressions, exported):
    shown = {name for text in expressions for name in re.findall(r"\bmoonlynx_\w+", text)}
    assert shown <= set(exported)
    kept = {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown}
    said = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported}
    # Of gateways with an audit or with metrics alone.
    assert said - kept == {"moonlynx_audit_dropped_total", "moonlynx_metric_verdicts_total"}


def test_every_expression_is_promql_over_labels_that_exist(expressions, exported):
    promql = pytest.importorskip("promql_parser", reason="pip install promql-parser")
    assert len(expressions) > 10
    for text in expressions:
        text = text.replace("$__rate_interval", "1m").replace("$job", "moonlynx")
        promql.parse(text)
        (name, *_) = re.findall(r"moonlynx_\w+", text)
        asked = set(re.findall(r'(\w+)=~?"', text))
        for group in re.findall(r"by \(([\w, ]+)\)", text):
            asked |= set(group.replace(" ", "").split(","))
        assert asked <= exported[name] | {"job"}, text


def test_prometheus_takes_its_configuration(deploy, tool):
    promtool = tool("promtool", "apt-get install prometheus")
    done = run(promtool, "check", "config", deploy / "prometheus" / "prometheus.yaml")
    assert done.returncode == 0, done.stderr


def test_prometheus_asks_the_gateway_which_has_a_thread_for_each_core(deploy, compose):
    prometheus = yaml.safe_load((deploy / "prometheus" / "prometheus.yaml").read_text())
    (job,) = prometheus["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    assert target.partition(":")[0] in compose["services"]
    gateway = compose["services"]["gateway"]
    assert gateway["ports"] == ["127.0.0.1:8000:8000"]
    limit = gateway["deploy"]["resources"]["limits"]["cpus"]
    assert gateway["environment"] == {"OMP_NUM_THREADS": limit}


def test_compose_follows_its_schema_and_mounts_what_is_there(deploy, compose, tool):
    for service in compose["services"].values():
        assert ":" in service["image"]
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            assert (deploy / source).is_file() or source in compose["volumes"]
    check = tool("check-jsonschema", "pip install check-jsonschema")
    words = [check, "--builtin-schema", "vendor.compose-spec", deploy / "compose.yaml"]
    done = run(*words)
    assert done.returncode == 0, done.stdout
