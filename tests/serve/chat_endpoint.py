"""A chat endpoint as a program: `python chat_endpoint.py PORT`, 0 for any.

It prints the port, and then a line for each request.

It answers as Lynx does, `FAIL` where the prompt says "wrong", after the seconds that the prompt
asks for as "wait 1.5s".
"""

import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def tell(what):
    os.write(sys.stdout.fileno(), f"{what}\n".encode())  # at once, and whole


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tell("asked")
        prompt = body["messages"][-1]["content"]
        if wait := re.search(r"wait ([\d.]+)s", prompt):
            time.sleep(float(wait[1]))
        score = "FAIL" if "wrong" in prompt else "PASS"
        message = {"role": "assistant", "content": json.dumps({"REASONING": [], "SCORE": score})}
        reply = {
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # a client that went away


if __name__ == "__main__":
    with Server(("127.0.0.1", int(sys.argv[1])), Handler) as server:
        tell(server.server_port)
        server.serve_forever()
