import json
import subprocess
import sys

import pytest

from moonlynx.judge.backends.base import ChatReply
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.batch.judging import judge_batch, to_line
from moonlynx.judge.contract.spec import SpecError, parse_spec
from moonlynx.judge.judges.lynx import MAX_TOKENS, LynxJudge
from moonlynx.judge.rows.examples import read_rows
from moonlynx.serve.ray.llm import Asking, Engine, Reading, takes
from moonlynx.serve.ray.partitions import plan

from ...conftest import VLLM_ENVIRONMENT
from .nodes import cluster, ended, judging
from .rows import write_rows

REPLY = '{"REASONING": ["It says so."], "SCORE": "FAIL"}'


def outputs(row, text=REPLY, count=12):
    return row | {
        "generated_text": text,
        "generated_tokens": [7, 9],
        "num_generated_tokens": count,
        "num_input_tokens": len(row["tokenized_prompt"]),
        "logprobs": None,
        "__inference_error__": "",
    }


@pytest.fixture(scope="module")
def asked(tiny_llama, tmp_path_factory):
    source = write_rows(tmp_path_factory.mktemp("rows") / "rows.jsonl", 40)
    planned = plan(str(source), 16)
    asking = Asking(str(tiny_llama), None, None)
    shared = {"url": planned.url, "map": "{}"}
    items = [shared | {"partition": one.model_dump_json()} for one in planned.partitions]
    return [row for item in items for row in asking(item)], list(read_rows(source))


@pytest.mark.heavy
def test_replies_become_the_verdicts_of_one_machine(tiny_llama, asked):
    rows, given = asked
    reading = Reading(str(tiny_llama), None)
    pieces = [reading(outputs(row)) for row in rows]
    assert [(one["partition"], one["at"]) for one in pieces] == [
        (number // 16, number % 16) for number in range(40)
    ]
    tokens = iter([len(row["tokenized_prompt"]) for row in rows if row["example"]])
    backend = FakeBackend(lambda _: ChatReply(REPLY, "stop", next(tokens), 12))
    judge = LynxJudge(backend, model=f"{tiny_llama}@vllm")
    assert [one["lines"] for one in pieces] == [to_line(one) for one in judge_batch(judge, given)]


@pytest.mark.heavy
def test_faults_of_the_engine_and_cut_replies_are_unscored(tiny_llama, asked):
    row = next(row for row in asked[0] if row["example"])
    reading = Reading(str(tiny_llama), None)

    def code(columns):
        return json.loads(reading(columns)["lines"])["error"]["code"]

    assert code(outputs(row) | {"__inference_error__": "out of memory"}) == "backend"
    assert code(outputs(row, text='{"REASONING": ["It', count=MAX_TOKENS)) == "truncated"
    short = Asking(str(tiny_llama), None, 50)
    long = short.ask(next(row for row in asked[1] if not isinstance(row.example, Exception)))
    assert code(outputs(long | {"partition": 0, "at": 0})) == "too_long"


def test_only_lynx_by_vllm_goes_to_the_processor():
    assert takes(parse_spec("lynx@vllm"))
    assert not takes(parse_spec("lynx:m@http://127.0.0.1:8001/v1"))
    assert not takes(parse_spec("luna"))
    with pytest.raises(SpecError, match="has no option 'calibration'"):
        Engine(parse_spec("lynx@vllm?calibration=c.json"), None, 1.0)


@pytest.mark.heavy
def test_the_processor_is_configured(tiny_llama):
    pytest.importorskip("ray.data.llm", exc_type=ImportError)
    spec = parse_spec(f"lynx:{tiny_llama}@vllm?tensor_parallel=2&max_model_len=512&eager=yes")
    config = Engine(spec, workers=3, gpus=1.0).config()
    assert config.model_source == str(tiny_llama)
    assert config.engine_kwargs["tensor_parallel_size"] == 2
    assert config.engine_kwargs["max_model_len"] == 512
    assert config.engine_kwargs["trust_remote_code"] is False
    assert config.get_concurrency(autoscaling_enabled=True) == {"min_size": 1, "max_size": 3}
    assert config.placement_group_config["bundle_per_worker"] == {"CPU": 1.0, "GPU": 1.0}


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore")  # Ray's own, of its packages and at its end
def test_a_real_engine_gives_the_verdicts_of_one_machine(tiny_llama, tmp_path, monkeypatch):
    """Through the processor, and through the same engine without Ray: here to the last bit."""
    pytest.importorskip("ray.data.llm", exc_type=ImportError)
    for name, value in VLLM_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    source = write_rows(tmp_path / "rows.jsonl", 10)
    options = ["--judge", f"lynx:{tiny_llama}@vllm?max_model_len=1024&dtype=float32&eager=yes"]
    with cluster(workers=1, cpus=2) as (running, _):
        output = tmp_path / "verdicts.jsonl"
        process = judging(
            source, output, "--engine", "ray?partition-rows=4", *options, address=running.address
        )
        ended(process, 3)
    line = [sys.executable, "-m", "moonlynx", "judge", "--input", str(source), *options]
    alone = tmp_path / "alone.jsonl"
    subprocess.run([*line, "--output", str(alone)], capture_output=True, check=False)
    assert output.read_bytes() == alone.read_bytes()
    verdicts = [json.loads(one) for one in output.read_text().splitlines()]
    assert sum(verdict["raw_score"] is not None for verdict in verdicts) > 4
