"""A server for tests of clients: real HTTP on the loopback, with faults at will."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from moonlynx.judge.backends.chat import load_chat_backend


class Server:
    """A loopback HTTP server that answers what the test tells it to, and keeps what it was sent.

    `answer` is a function of the request's body: status, content, and headers where there are some.
    """

    def __init__(self):
        self.answer = lambda body: (500, "the test has set no answer")
        self.requests, self.headers = [], []
        self.now = self.most = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server._handle(self, None)

            def do_POST(self):
                length = int(self.headers["Content-Length"])
                server._handle(self, json.loads(self.rfile.read(length)))

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def _handle(self, http, body):
        with self._lock:
            self.requests.append((http.path, body))
            self.headers.append(dict(http.headers))
            self.now += 1
            self.most = max(self.most, self.now)
        status, answer, *headers = self.answer(body)
        with self._lock:
            self.now -= 1
        content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        try:
            http.send_response(status)
            for name, value in headers:
                http.send_header(name, value)
            http.send_header("Content-Length", str(len(content)))
            http.end_headers()
            http.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            http.close_connection = True  # the client's time was up

    def load(self, model="m", **options):
        return load_chat_backend(self.url, model, {name: str(v) for name, v in options.items()})

    def close(self):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def in_turn(*answers):
    rest = list(answers)
    return lambda body: rest.pop(0) if len(rest) > 1 else rest[0]


def error(message, **more):
    return {"error": {"message": message, **more}}
