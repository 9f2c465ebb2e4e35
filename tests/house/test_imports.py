import json
import re
import sys
from importlib.metadata import distribution, packages_distributions

import pytest
from packaging.requirements import Requirement

from ..running import run

pytestmark = pytest.mark.heavy  # imports all there is in a process of its own

# What only an extra brings. The core must not touch it even where it is installed.
HEAVY = {
    *(
        "torch",
        "transformers",
        "accelerate",
        "bitsandbytes",
        "xgrammar",
        "vllm",
        "xllamacpp",
        "gguf",
    ),
    *("sentence_transformers", "sklearn", "scipy", "pandas", "datasets", "pyarrow", "openpyxl"),
    *("gradio", "ray", "sqlalchemy", "langchain_core", "llama_index", "haystack", "mcp"),
}
# Each is the border to a package, and imports it like whoever imports the border.
_BORDERS = (
    *("deepeval", "haystack", "langchain", "langfuse", "langgraph", "litellm", "llama_index"),
    *("mlflow", "openai_agents", "phoenix", "pytest_plugin", "ragas"),
)
BORDERS = (
    *(f"serve/integrations/{name}.py" for name in _BORDERS),
    # To the packages of the extra `serve`: the command imports these only to serve.
    *("serve/app.py", "serve/server.py", "serve/service.py", "serve/http/", "serve/routes/"),
    *("serve/page/", "serve/queue/jobs.py", "serve/ray/graph.py"),
    "recipes/chat/on_cpu.py",  # to TRL: training imports it only to train
)
# What core dependencies load by themselves where it is there: httpx, to read compressed answers and
# to run under trio, and jsonschema, to check formats.
TAKEN_ALONG = {
    *("brotli", "_brotli", "zstandard", "jsonpointer"),
    *("trio", "outcome", "sniffio", "sortedcontainers"),
}
# What Cython's modules, such as PyYAML's, make up when they are loaded.
MADE_UP = re.compile(r"cython_runtime|_cython_\w+|_sysconfigdata_\w+")

PROBE = """
import csv, importlib, json, locale, logging, os, signal, sys, threading, warnings

def state():
    return {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "csv limit": csv.field_size_limit(),
        "locale": locale.setlocale(locale.LC_ALL),
        "log handlers": [str(handler) for handler in logging.getLogger().handlers],
        "log level": logging.getLogger().level,
        "interrupt": str(signal.getsignal(signal.SIGINT)),
        "threads": threading.active_count(),
        "recursion limit": sys.getrecursionlimit(),
        "search path": list(sys.path),
    }

events = []

def listen(event, args):
    writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
    if event.startswith(("socket.", "subprocess.")) or writes:
        events.append(f"{event} {args}")

before, modules = state(), set(sys.modules)
sys.addaudithook(listen)
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
after = state()
changed = {key: [before[key], after[key]] for key in before if before[key] != after[key]}
new = sorted({name.partition(".")[0] for name in set(sys.modules) - modules})
print(json.dumps({"events": events, "changed": changed, "new": new}))
"""


def modules_of(tracked, root):
    rooms = [path.name for path in tracked if (root / path).is_symlink()]
    for path in tracked:
        is_ours = path.parts[0] in rooms or path.parts[:2] == ("src", "moonlynx")
        is_module = path.suffix == ".py" and path.name != "__main__.py"
        if is_ours and is_module and not path.as_posix().startswith(BORDERS):
            parts = path.parts[2:] if path.parts[0] == "src" else path.parts
            yield ".".join(("moonlynx", *parts)).removesuffix(".py").removesuffix(".__init__")


def probe(names, folder):
    environment = {"PATH": "", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-W", "error", "-c", PROBE, json.dumps(names)]
    done = run(*command, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def core_packages():
    wanted, names = ["moonlynx"], set()
    while wanted:
        name = re.sub(r"[-_.]+", "-", wanted.pop()).lower()
        if name not in names:
            names.add(name)
            for line in distribution(name).requires or ():
                requirement = Requirement(line)
                if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                    wanted.append(requirement.name)
    return {
        module
        for module, owners in packages_distributions().items()
        if names & {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
    }


@pytest.fixture(scope="module")
def imported(tracked, root, tmp_path_factory):
    names = sorted(modules_of(tracked, root))
    assert {"moonlynx", "moonlynx.judge.contract.types", "moonlynx.cli"} <= set(names)
    return probe(names, tmp_path_factory.mktemp("folder"))


def test_importing_loads_only_the_core_dependencies_and_changes_nothing(imported):
    allowed = core_packages() | set(sys.stdlib_module_names) | TAKEN_ALONG | {"moonlynx"}
    new = {name for name in imported["new"] if not MADE_UP.match(name)}
    assert "moonlynx" in new
    assert new <= allowed
    assert imported["events"] == []
    assert imported["changed"] == {}


def test_the_core_needs_no_heavy_package_and_commands_no_numpy(tmp_path):
    assert HEAVY.isdisjoint(core_packages())
    assert {"pydantic", "numpy", "syntok", "typer"} <= core_packages()
    assert "numpy" not in probe(["moonlynx.cli"], tmp_path)["new"]
