"""A Hub on the loopback: the part of the Hub's HTTP API that its client uses to push and to pull.

Repositories with commits, branches and tags; regular files in the commit, large ones by LFS
(upload, verify, no second upload of what is there); downloads with ETag, Range and the commit in a
header; 401 and 404 as the Hub says them. No Xet: its client must have `HF_HUB_DISABLE_XET` set.

Run as a program, `python tests/hub_server.py PORT`, it serves until it is stopped.
"""

import base64
import hashlib
import json
import re
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

TOKEN = "hf_writer"
LARGE = (".onnx", ".safetensors", ".gguf", ".parquet", ".bin")
_API = re.compile(r"/api/(model|dataset)s/([^/]+/[^/]+)(?:/(\w+))?(?:/(.+))?")
_FILE = re.compile(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_BATCH = re.compile(r"/(datasets/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch")


@dataclass
class Repository:
    """Commits are files by path; refs are commits by branch or tag."""

    private: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"0" * 40: {}})
    branches: dict[str, str] = field(default_factory=lambda: {"main": "0" * 40})
    tags: dict[str, str] = field(default_factory=dict)

    def commit(self, branch, files):
        oid = hashlib.sha1(repr((branch, len(self.commits), sorted(files))).encode()).hexdigest()
        self.commits[oid] = files
        self.branches[branch] = oid
        return oid

    def find(self, revision):
        oid = self.branches.get(revision) or self.tags.get(revision) or revision
        if oid not in self.commits:
            raise Refused(404, "RevisionNotFound")
        return oid


class Refused(Exception):
    """An answer that is an error: status and the Hub's code for it."""


class Hub(ThreadingHTTPServer):
    """The server.

    Attributes:
        repositories: by kind and id.
        objects: LFS objects by SHA-256.
        seen: method, path and Range of every request.
        fault: called with method and path before each; returns a status to answer with instead,
            "cut" to end the connection in the middle of the body, or None.
    """

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.repositories, self.objects, self.seen = {}, {}, []
        self.fault = lambda method, path: None
        self.lock = threading.Lock()

    def __enter__(self):
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self._thread.join()
        self.server_close()


def etag(path, content):
    if path.endswith(LARGE):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body together: else the client's system waits 40 ms between them

    def log_message(self, *_):
        pass

    def _answer(self):
        hub, path = self.server, unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        hub.seen.append((self.command, path, self.headers.get("Range")))
        self._fault = hub.fault(self.command, path)
        try:
            if isinstance(self._fault, int):
                raise Refused(self._fault, "")
            if self.headers.get("Authorization") not in (None, f"Bearer {TOKEN}"):
                raise Refused(401, "")
            with hub.lock:
                self._route(path, body)
        except Refused as refused:
            status, code = refused.args
            said = {401: "Invalid credentials in Authorization header"}.get(status, code)
            headers = {"X-Error-Code": code} if code else {"X-Error-Message": said}
            self._send(status, {"error": said}, headers | {"Retry-After": "0"})

    do_GET = do_HEAD = do_POST = do_PUT = _answer  # noqa: N815 (names that the library calls)

    def _route(self, path, body):
        if path == "/api/validate-yaml":
            self._send(200, {"errors": [], "warnings": []})
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif match := _API.fullmatch(path):
            kind, name, action, rest = match.groups()
            getattr(self, f"_api_{action or 'info'}")(self._find(kind, name), name, rest, body)
        elif match := _BATCH.fullmatch(path):
            self._batch(json.loads(body)["objects"])
        elif path.startswith("/lfs/"):
            self._object(path.removeprefix("/lfs/"), body)
        elif match := _FILE.fullmatch(path):
            datasets, name, revision, inside = match.groups()
            self._file(self._find("dataset" if datasets else "model", name), revision, inside)
        else:
            raise Refused(404, "")

    def _find(self, kind, name):
        found = self.server.repositories.get((kind, name))
        if found is None or (found.private and not self.headers.get("Authorization")):
            raise Refused(401 if not self.headers.get("Authorization") else 404, "RepoNotFound")
        if self.command not in ("GET", "HEAD"):
            self._need_token()
        return found

    def _need_token(self):
        if not self.headers.get("Authorization"):
            raise Refused(401, "")

    def _create(self, asked):
        self._need_token()
        name = f"{asked['organization']}/{asked['name']}"
        key = (asked.get("type") or "model", name)
        private = asked.get("visibility") == "private" or asked.get("private") is True
        new = key not in self.server.repositories
        self.server.repositories.setdefault(key, Repository(private))
        self._send(200 if new else 409, {"url": f"{self.server.url}/{name}"})

    def _api_info(self, repository, name, _, body, revision="main"):
        oid = repository.find(revision)
        files = [{"rfilename": path} for path in repository.commits[oid]]
        self._send(200, {"id": name, "sha": oid, "private": repository.private, "siblings": files})

    def _api_revision(self, repository, name, revision, body):
        self._api_info(repository, name, None, body, revision)

    def _api_refs(self, repository, *_):
        kinds = {"branches": repository.branches, "tags": repository.tags}
        listed = {
            kind: [{"name": n, "ref": n, "targetCommit": oid} for n, oid in refs.items()]
            for kind, refs in kinds.items()
        }
        self._send(200, listed | {"converts": []})

    def _api_tree(self, repository, name, revision, body):
        entries = []
        for path, content in repository.commits[repository.find(revision)].items():
            entry = {"type": "file", "path": path, "size": len(content), "oid": etag("", content)}
            if path.endswith(LARGE):
                entry["lfs"] = {
                    "oid": etag(path, content),
                    "size": len(content),
                    "pointerSize": 130,
                }
            entries.append(entry)
        self._send(200, entries)

    def _api_branch(self, repository, name, branch, body):
        if branch in repository.branches:
            raise Refused(409, "")
        repository.branches[branch] = repository.branches["main"]
        self._send(200, {})

    def _api_tag(self, repository, name, revision, body):
        tag = json.loads(body)["tag"]
        if tag in repository.tags:
            raise Refused(409, "")
        repository.tags[tag] = repository.find(revision)
        self._send(200, {})

    def _api_preupload(self, repository, name, branch, body):
        there = repository.commits[repository.find(branch)]
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                "shouldIgnore": False,
                "oid": etag(file["path"], there[file["path"]]) if file["path"] in there else None,
            }
            for file in json.loads(body)["files"]
        ]
        self._send(200, {"files": files})

    def _api_commit(self, repository, name, branch, body):
        files = dict(repository.commits[repository.find(branch)])
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        oid = repository.commit(branch, files)
        self._send(200, {"commitOid": oid, "commitUrl": f"{self.server.url}/{name}/commit/{oid}"})

    def _batch(self, asked):
        self._need_token()
        objects = []
        for each in asked:
            entry = {"oid": each["oid"], "size": each["size"]}
            if each["oid"] not in self.server.objects:
                href = f"{self.server.url}/lfs/{each['oid']}"
                entry["actions"] = {"upload": {"href": href}, "verify": {"href": href}}
            objects.append(entry)
        self._send(200, {"transfer": "basic", "objects": objects})

    def _object(self, oid, body):
        if self.command == "PUT":
            if hashlib.sha256(body).hexdigest() != oid:
                raise Refused(400, "")
            self.server.objects[oid] = body
        elif oid not in self.server.objects:
            raise Refused(404, "")
        self._send(200, {})

    def _file(self, repository, revision, path):
        oid = repository.find(revision)
        content = repository.commits[oid].get(path)
        if content is None:
            raise Refused(404, "EntryNotFound")
        headers = {
            "X-Repo-Commit": oid,
            "ETag": f'"{etag(path, content)}"',
            "Accept-Ranges": "bytes",
        }
        status, first = 200, 0
        if asked := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            status, first = 206, int(asked[1])
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        self._send(status, content[first:], headers)

    def _send(self, status, content, headers=None):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self._fault == "cut":
            data, self.close_connection = data[: len(data) // 2], True
        self.wfile.write(data)


if __name__ == "__main__":
    with Hub(int(sys.argv[1])) as hub:
        sys.stdout.write(f"{hub.url}\n")
        sys.stdout.flush()
        threading.Event().wait()
