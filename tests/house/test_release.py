"""The release: its workflow, its script, and the wheel in environments that held nothing."""

import json
import os
import re
import shutil
import sys
from itertools import chain
from pathlib import Path

import pytest
import yaml

import moonlynx

from ..running import run

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "recipes" / "release.sh"
GITHUB = ROOT / ".github"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def test_actions_are_pinned_and_there_is_no_secret():
    for path in sorted((GITHUB / "workflows").glob("*.yml")):
        text = path.read_text(encoding="utf-8")
        used = re.findall(r"uses: (\S+)", text)
        assert used
        assert [one for one in used if not re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", one)] == []
        assert "secrets." not in text
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", "workflows/*.yml"),
        ("github-issue-forms", "ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", "ISSUE_TEMPLATE/config.yml"),
    ],
)
def test_what_github_reads_follows_its_schemas(schema, files):
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = run(*command, *sorted(GITHUB.glob(files)))
    assert done.returncode == 0, done.stdout


def test_the_citation_is_of_this_version_and_names_the_project():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == moonlynx.__version__
    assert [list(author) for author in cited["authors"]] == [["name"]]


def test_version_verbose_is_fit_to_be_shown(command_line, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("MOONLYNX_API_KEY", "secret")
    assert command_line("--version") == (0, f"{moonlynx.__version__}\n", "")
    code, out, _ = command_line("--version", "--verbose")
    assert (code, out) == command_line("--verbose", "--version")[:2]
    assert out.startswith(f"{moonlynx.__version__}\npython 3.")
    assert re.search(r"^backend onnx: onnxruntime [\d.]+$", out, re.MULTILINE)
    manifest = json.loads((ROOT / "judge/weights/luna-mini/manifest.json").read_text())
    assert f"model.onnx {manifest['files']['model.onnx'][:12]}," in out
    assert not re.search(r"secret|not as released|(?<!\w)/\w", out)


@pytest.mark.parametrize("words", [(), ("a", "b"), ("org/name",), ("-x",)])
def test_the_script_says_how_it_is_used(words, tmp_path):
    done = run(SCRIPT, *words, cwd=tmp_path)
    assert (done.returncode, done.stderr.startswith("usage: ")) == (2, True)
    assert list(tmp_path.iterdir()) == []


def interpreter(version):
    """Return a Python of that version which runs: on the path, or one of pyenv's."""
    there = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python3")
    for path in chain(filter(None, [shutil.which(f"python{version}")]), sorted(there)):
        if run(path, "-c", "import venv").returncode == 0:
            return path
    return None


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Make a release without pushing it: wheels and a signature by a key of its own."""
    folder = tmp_path_factory.mktemp("release")
    key = folder / "key.pem"
    run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
    run("openssl", "ec", "-in", key, "-pubout", "-out", folder / "public.pem")
    data = os.environ.get("MOONLYNX_DATA")
    chosen = {"OUT": folder / "out", "PYTHON": sys.executable, "KEY": key}
    chosen["ROWS"] = "60" if data else "0"
    done = run(SCRIPT, "org", env=os.environ | {name: str(v) for name, v in chosen.items()})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder, done.stdout


@pytest.mark.slow
def test_a_release_is_made_shown_and_signed(released):
    folder, said = released
    packages, tools = folder / "out" / "packages", folder / "out" / "tools" / "bin"
    assert run("sha256sum", "--check", "SHA256SUMS", cwd=packages).returncode == 0
    (sbom,) = packages.glob("*.cdx.json")
    listed = json.loads(sbom.read_text())
    assert listed["metadata"]["component"]["name"] == "moonlynx"
    assert {"numpy", "onnxruntime", "tokenizers"} <= {one["name"] for one in listed["components"]}
    names = ["luna", "luna-mini", "luna2-heads", "luna2-prompt-injection"] + ["halubench"] * bool(
        os.getenv("MOONLYNX_DATA")
    )
    assert sorted(re.findall(r"^== org/(\S+)$", said, re.MULTILINE)) == sorted(names)
    assert said.count("model.sig") >= len(names)
    card = (folder / "out/hub/luna2-heads/README.md").read_bytes()
    assert card == (ROOT / "judge/weights/luna2/README.md").read_bytes()
    verify = [tools / "model_signing", "verify", "key", "--public_key", folder / "public.pem"]
    heads = folder / "out" / "hub" / "luna2-heads"
    assert run(*verify, "--signature", heads / "model.sig", heads).returncode == 0
    (heads / "tone.json").write_text("{}")
    assert run(*verify, "--signature", heads / "model.sig", heads).returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_judges_where_nothing_was_installed(released, version, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    (wheel,) = (released[0] / "out" / "packages").glob("*.whl")
    assert run(python, "-m", "venv", tmp_path / "empty").returncode == 0
    own = tmp_path / "empty" / "bin" / "python"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = run(own, "-m", "pip", "install", "--quiet", wheel, env=clean)
    assert done.returncode == 0, done.stderr[-2000:]
    words = ("judge", "--context", "It opened in 1932.", "--answer", "It opened in 1932.")
    done = run(own, "-I", "-m", "moonlynx", *words, cwd=tmp_path, env=clean)
    assert json.loads(done.stdout)["score"] == "PASS"
    shutil.rmtree(tmp_path / "empty")
