import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai
import pytest

from moonlynx.serve.service import Settings

from .loopback import serving
from .test_guard import BAD, CONTEXT, GOOD, pieces

USAGE = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}


@contextmanager
def chat_endpoint(*answers, status=200, whole=True):
    """Serve a chat model that gives one answer after the other, and the last one again."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()
            if status != 200:
                self.wfile.write(b'{"error": {"message": "no such model"}}')
                return
            answer = answers[min(len(asked), len(answers)) - 1]
            chunks = [{"role": "assistant", "content": ""}]
            chunks += [{"content": piece} for piece in pieces(answer)]
            for delta in chunks:
                self.write([{"index": 0, "delta": delta, "finish_reason": None}])
            if whole:
                self.write([{"index": 0, "delta": {}, "finish_reason": "stop"}])
                self.write([], usage=USAGE)
                self.wfile.write(b"data: [DONE]\n\n")
            else:
                self.wfile.write(b"data: {brok\n\n")

        def write(self, choices, **more):
            head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            self.wfile.write(f"data: {json.dumps(head | {'choices': choices} | more)}\n\n".encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", asked
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def guarded(*answers, **endpoint):
    with (
        chat_endpoint(*answers, **endpoint) as (url, asked),
        serving(settings=Settings(upstream=url)) as address,
        openai.OpenAI(base_url=f"{address}/v1/guarded", api_key="none", max_retries=0) as chat,
    ):
        yield chat, asked


def ask(chat, documents=CONTEXT, guard=None, **more):
    return chat.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "When?", "name": "ann"}],
        extra_body={"documents": documents, **(guard or {})},
        **more,
    )


def test_a_supported_answer_passes_whole():
    with guarded(GOOD + "\n") as (chat, asked):
        done = ask(chat, temperature=0.5)
        chunks = list(ask(chat, stream=True))
    assert done.choices[0].message.content == GOOD + "\n"
    assert done.choices[0].finish_reason == "stop"
    assert done.usage.total_tokens == 8
    assert [event["verdict"]["score"] for event in done.moonlynx] == ["PASS"] * 3
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == GOOD + "\n"
    assert asked[0] == {
        "model": "m",
        "messages": [{"role": "user", "content": "When?", "name": "ann"}],
        "temperature": 0.5,
        "stream": True,
    }


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_ends_before_its_first_hallucination(stream):
    with guarded(BAD) as (chat, _):
        reply = ask(chat, stream=stream)
        if stream:
            chunks = list(reply)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
            finish, last = chunks[-1].choices[0].finish_reason, chunks[-1].moonlynx
        else:
            text, finish = reply.choices[0].message.content, reply.choices[0].finish_reason
            last = reply.moonlynx[-1]
    assert text == "The bridge was built in 1849."
    assert finish == "content_filter"
    assert last["verdict"]["score"] == "FAIL"


def test_what_the_endpoint_refuses_or_breaks_off_is_told():
    with guarded(GOOD, status=404) as (chat, _):
        with pytest.raises(openai.APIStatusError, match=r"HTTP 404: .*no such model") as refused:
            ask(chat, stream=True)
        assert refused.value.status_code == 502
        with pytest.raises(openai.UnprocessableEntityError, match="holds no text"):
            ask(chat, documents=[" "])
    with guarded(GOOD, whole=False) as (chat, _):
        with pytest.raises(openai.APIError, match="gave no complete answer"):
            list(ask(chat, stream=True))
        with pytest.raises(openai.APIStatusError, match="gave no complete answer"):
            ask(chat)
