"""What every chat backend keeps, held over all of them with the same requests."""

import json
import re
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest

from moonlynx.judge.backends.base import ChatBackend, ChatRequest, known_weights
from moonlynx.judge.backends.chat import load_chat_backend
from moonlynx.judge.contract.types import Turn

from ...conftest import VLLM_ENVIRONMENT, VLLM_MODEL_LENGTH
from ...tiny_gguf import write_gguf

# torch's own, at the import of what vLLM needs of it.
pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"
)

SCHEMA = json.loads(Path(__file__).with_name("schema.json").read_text(encoding="utf-8"))
PROMPTS = (
    "Is the bridge older than the tower?",
    "The river rises in the northern hills. Where does it reach the sea? Answer from the document.",
    "Wie alt ist die Brücke? 橋は古い。",
    "Say PASS or FAIL.",
)
TOO_LONG = "The harbour was closed. " * 2000


@contextmanager
def _fake(request):
    # What a model would do: the first row that fits the prompt answers it.
    script = str(Path(__file__).with_name("script.jsonl"))
    yield load_chat_backend("fake", None, {"script": script})


@contextmanager
def _openai(request):
    url, model = map(request.getfixturevalue, ("vllm_server", "tiny_llama"))
    yield load_chat_backend(url, str(model), {})


def _transformers(**options):
    @contextmanager
    def start(request):
        import torch

        model = request.getfixturevalue("tiny_llama")
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # a second costs more in waiting than so small a model gains
        yield load_chat_backend("transformers", str(model), options)
        torch.set_num_threads(threads)

    return start


@contextmanager
def _llamacpp(request):
    for package in ("xllamacpp", "gguf"):
        pytest.importorskip(package, reason=f"needs {package}: tests/requirements-optional.txt")
    folder = request.getfixturevalue("tmp_path_factory").mktemp("gguf")
    path = write_gguf(request.getfixturevalue("tiny_llama"), folder / "tiny.gguf")
    yield load_chat_backend("llamacpp", str(path), {"threads": "1"})


@contextmanager
def _vllm(request):
    if find_spec("vllm") is None:
        pytest.skip("needs vLLM: tests/requirements-optional.txt")
    model = str(request.getfixturevalue("tiny_llama"))
    options = {"max_model_len": str(VLLM_MODEL_LENGTH), "dtype": "float32", "eager": "yes"}
    with pytest.MonkeyPatch.context() as environment:
        for name, value in VLLM_ENVIRONMENT.items():
            environment.setenv(name, value)
        backend = load_chat_backend("vllm", model, options)
        yield backend
        backend._llm.llm_engine.engine_core.shutdown()


BACKENDS = {
    "fake": _fake,
    "transformers-fp32": _transformers(load="fp32"),
    "transformers-batch": _transformers(load="fp32", batch="3"),
    "transformers-int8": _transformers(load="int8"),
    "transformers-nf4": _transformers(load="nf4"),
    "llamacpp": _llamacpp,
    "vllm-server": _openai,
    "vllm": _vllm,
}
HEAVY = [pytest.param(name, marks=pytest.mark.heavy) for name in BACKENDS if name != "fake"]


@pytest.fixture(scope="module", params=["fake", *HEAVY])
def backend(request):
    with BACKENDS[request.param](request) as backend:
        yield backend


def ask(text, **settings):
    return ChatRequest((Turn(role="user", content=text),), **{"max_tokens": 16, **settings})


def test_it_is_a_backend_with_a_name_that_replies_to_nothing_with_nothing(backend):
    assert isinstance(backend, ChatBackend)
    assert backend.name
    assert backend.complete([]) == []


def test_weights_in_this_process_are_known_by_their_hash(backend, request):
    elsewhere = request.node.callspec.params["backend"] in ("fake", "vllm-server")
    known = known_weights(backend)
    assert known == () if elsewhere else re.fullmatch("[0-9a-f]{12}", *known)


def test_replies_are_as_many_and_as_ordered_as_the_requests(backend):
    requests = [ask(prompt) for prompt in PROMPTS]
    together = backend.complete(requests)
    alone = [backend.complete([request])[0] for request in requests]
    assert together == alone
    assert all(reply.error is None for reply in together)


def test_a_reply_keeps_to_its_limit_and_usage_is_counted(backend):
    replies = backend.complete([ask(PROMPTS[0], max_tokens=n) for n in (5, 1, 3)])
    assert [reply.finish for reply in replies] == ["length"] * 3
    assert [reply.output_tokens for reply in replies] == [5, 1, 3]
    assert len({reply.input_tokens for reply in replies}) == 1
    assert replies[0].input_tokens >= len(PROMPTS[0].split())
    assert replies[0].text.startswith(replies[2].text)


def test_a_reply_obeys_its_schema_or_says_that_it_was_cut(backend):
    requests = [
        ask(f"{prompt} Reply in JSON.", schema=SCHEMA, max_tokens=200) for prompt in PROMPTS
    ]
    for reply in backend.complete([*requests, ask("No schema here.")])[:-1]:
        assert reply.finish == "stop", reply.text
        jsonschema.validate(json.loads(reply.text), SCHEMA)
    request = ask("Reply in JSON.", schema=SCHEMA, max_tokens=2)
    (reply,) = backend.complete([request])
    assert reply.finish == "length"
    assert reply.output_tokens == 2


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["free", "schema"])
def test_tokens_join_to_the_text_and_stand_among_their_alternatives(backend, schema):
    limit = 24 if schema is None else 200
    requests = [ask(f"{p} Reply in JSON.", schema=schema, max_tokens=limit) for p in PROMPTS]
    spoken = [ChatRequest(**{**vars(request), "logprobs": True}) for request in requests]
    for silent, reply in zip(backend.complete(requests), backend.complete(spoken), strict=True):
        assert silent.tokens is None
        assert reply.text == silent.text, "asking for logprobs changes nothing"
        assert "".join(token.text for token in reply.tokens).startswith(reply.text)
        for token in reply.tokens:
            assert token.logprob <= 0
            assert (token.text, token.logprob) in token.top
            logprobs = [logprob for _, logprob in token.top]
            assert logprobs == sorted(logprobs, reverse=True)


def test_a_prompt_that_is_too_long_fails_alone(backend):
    requests = [ask(PROMPTS[0]), ask(TOO_LONG), ask(PROMPTS[1])]
    before, long, after = backend.complete(requests)
    assert (long.finish, long.text, long.error.code) == ("error", "", "too_long")
    assert [before, after] == backend.complete([requests[0], requests[2]])
    assert before.error is after.error is None


@pytest.fixture
def model(backend):
    if backend.name == "fake":
        pytest.skip("the fake has no model to sample from or to bind")
    return backend


def test_a_seed_makes_sampled_replies_repeatable(model):
    requests = [ask(PROMPTS[0], temperature=1.5, seed=seed) for seed in (1, 2, 1)]
    first, second, again = model.complete(requests)
    assert first == again
    assert first.text != second.text
    assert model.complete(requests[1:2]) == [second], "nor do they depend on their neighbours"


def test_a_schema_that_cannot_be_enforced_fails_alone(model):
    requests = [ask(PROMPTS[0]), ask(PROMPTS[1], schema={"type": "nonsense"}), ask(PROMPTS[2])]
    before, bound, after = model.complete(requests)
    assert (bound.finish, bound.error.code) == ("error", "backend")
    assert [before, after] == model.complete([requests[0], requests[2]])
    assert before.error is after.error is None
