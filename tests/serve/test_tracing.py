import json

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from moonlynx import load_judge
from moonlynx.judge.contract.types import Usage, Verdict
from moonlynx.serve.tracing import Tracing, open_tracing

from .loopback import EXAMPLE, WRONG, calling


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def tracing(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Tracing(provider)


def test_each_verdict_has_its_span(tracing, exporter):
    with calling(tracing=tracing) as client:
        client.post("/v1/judge", json=[EXAMPLE, WRONG, EXAMPLE | {"answer": ""}])
        spans = exporter.get_finished_spans()
    events = [event for span in spans for event in span.events]
    assert {event.name for event in events} == {"gen_ai.evaluation.result"}
    labels = [event.attributes["gen_ai.evaluation.score.label"] for event in events]
    assert sorted(labels) == ["FAIL", "PASS", "unscored"]
    by_label = dict(zip(labels, events, strict=True))
    assert by_label["unscored"].attributes["error.type"] == "empty_answer"
    assert all(span.end_time > span.start_time for span in spans)
    assert spans[0].attributes["moonlynx.judge.name"] == "token-similarity"
    assert spans[0].attributes["openinference.span.kind"] == "EVALUATOR"
    told = "".join(span.to_json() for span in spans)
    assert "Glasgow" not in told
    assert "bridge" not in told


def test_a_probability_is_the_score_of_an_evaluators_span_of_openinference(tracing, exporter):
    judge = load_judge("token-similarity").info
    usage = Usage(calls=1, input_tokens=210, output_tokens=4)
    tracing.on_verdict(Verdict(score="FAIL", probability=0.75, judge=judge, usage=usage), 1)
    (span,) = exporter.get_finished_spans()
    assert span.events[0].attributes["gen_ai.evaluation.score.value"] == 0.75
    trace = pytest.importorskip(
        "openinference.semconv.trace", reason="pip install openinference-semantic-conventions"
    )
    names, told = trace.SpanAttributes, span.attributes
    kind = trace.OpenInferenceSpanKindValues.EVALUATOR.value
    assert told[names.OPENINFERENCE_SPAN_KIND] == kind
    assert told[names.OUTPUT_MIME_TYPE] == trace.OpenInferenceMimeTypeValues.JSON.value
    assert json.loads(told[names.OUTPUT_VALUE]) == {"label": "FAIL", "score": 0.75}
    assert told[names.LLM_TOKEN_COUNT_PROMPT] == 210
    assert told[names.LLM_TOKEN_COUNT_COMPLETION] == 4


def test_it_is_off_unless_asked_for(monkeypatch):
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)
    assert open_tracing() is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    tracing = open_tracing()
    assert isinstance(tracing, Tracing)
    tracing.close()
