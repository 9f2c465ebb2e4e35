import json
import os
import re

import pytest
from huggingface_hub import constants

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.backends.hub import HubError
from moonlynx.judge.files.stored import RELEASE, Release
from moonlynx.judge.metrics.encoder import EMBEDDED as HEADS
from moonlynx.model_card import hub as releases
from moonlynx.model_card.release import ReleaseError, plan_release

from ..cases import cases
from ..hub_server import Repository

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=")
MODEL = ("model", "org/name")


@pytest.fixture
def pushed(hub, folder):
    return releases.push(plan_release(folder), "org/name")


def files_of(hub, key=MODEL, revision="main"):
    repository = hub.repositories[key]
    return repository.commits[repository.find(revision)]


def test_a_dry_run_shows_files_sizes_and_licences(folder, command_line):
    code, out, error = command_line("push", str(folder), "org/name", "--dry-run")
    assert (code, error) == (0, "")
    assert re.search(r"^encoder, moonlynx \S+, 5 files, [\d,]+ bytes$", out, re.MULTILINE)
    size = (folder / "model.onnx").stat().st_size
    assert re.search(rf"^  model.onnx +{size:,}  [0-9a-f]{{12}}$", out, re.MULTILINE)
    assert out.splitlines()[-4:] == [
        "  release tiny: apache-2.0",
        "  base sentence-transformers/all-MiniLM-L6-v2: Apache-2.0",
        "  data mnli: MIT for the repository of copies",
        "  data of-my-own: licence not known here; look it up",
    ]


def test_what_is_pushed_is_pulled(hub, folder, command_line, tmp_path):
    code, out, _ = command_line("push", str(folder), "org/name", "--tag", "v1", "--private")
    commit = hub.repositories[MODEL].tags["v1"]
    assert (code, out.splitlines()[-1]) == (0, f"Pushed org/name at {commit[:12]}, tag v1")
    assert hub.repositories[MODEL].private
    there = files_of(hub)
    assert set(there) == {path.name for path in folder.iterdir()} | {RELEASE}
    release = Release.model_validate_json(there[RELEASE])
    assert (release.kind, set(release.files)) == ("encoder", set(there) - {RELEASE})
    code, out, _ = command_line("pull", "org/name", "--dry-run")
    assert (code, "encoder, moonlynx" in out) == (0, True)
    output = tmp_path / "pulled"
    code, out, _ = command_line("pull", "org/name", "--revision", "v1", "--output", str(output))
    says = f"Pulled org/name at {commit[:12]}: 5 files as released, in {output}"
    assert (code, out.splitlines()[-1]) == (0, says)
    assert (output / "model.onnx").read_bytes() == (folder / "model.onnx").read_bytes()


def test_a_release_replaces_the_one_before_in_one_commit(hub, folder, pushed):
    (folder / "README.md").write_text((folder / "README.md").read_text() + "\nmore\n")
    (folder / "notes.txt").write_text("new")
    second = releases.push(plan_release(folder), "org/name")
    (folder / "notes.txt").unlink()
    third = releases.push(plan_release(folder), "org/name", revision="next")
    fourth = releases.push(plan_release(folder), "org/name")
    assert "notes.txt" in files_of(hub, revision=second)
    assert "notes.txt" not in files_of(hub, revision=third) | files_of(hub, revision=fourth)
    assert hub.repositories[MODEL].branches == {"main": fourth, "next": third}
    assert sum(method == "PUT" for method, _, _ in hub.seen) == 1
    assert releases.push(plan_release(folder), "org/name") == fourth


def test_a_push_that_was_cut_resumes(hub, folder):
    hub.fault = lambda method, path: 500 if "/commit/" in path else None
    with pytest.raises(HubError, match=r"the Hub has an error of its own; .* \(HTTP 500\)"):
        releases.push(plan_release(folder), "org/name", tag="v1")
    assert files_of(hub) == {}
    hub.fault = lambda method, path: 401 if "/tag/" in path else None
    with pytest.raises(HubError, match="HTTP 401"):
        releases.push(plan_release(folder), "org/name", tag="v1")
    hub.fault = lambda method, path: None
    commit = releases.push(plan_release(folder), "org/name", tag="v1")
    assert hub.repositories[MODEL].tags == {"v1": commit}
    assert sum(method == "PUT" for method, _, _ in hub.seen) == 1


def test_a_tag_stays_where_it_is(hub, folder):
    first = releases.push(plan_release(folder), "org/name", tag="v1")
    assert releases.push(plan_release(folder), "org/name", tag="v1") == first
    (folder / "notes.txt").write_text("new")
    with pytest.raises(HubError, match="a tag v1 of another commit; choose another tag"):
        releases.push(plan_release(folder), "org/name", tag="v1")
    assert hub.repositories[MODEL].tags == {"v1": first}


def test_nothing_private_goes_to_a_public_repository(hub, folder):
    hub.repositories[MODEL] = Repository()
    with pytest.raises(HubError, match="is there and public"):
        releases.push(plan_release(folder), "org/name", private=True)
    assert files_of(hub) == {}


@pytest.mark.parametrize("status", [401, 403, 429])
def test_what_the_hub_refuses_is_said(hub, folder, command_line, status):
    hub.fault = lambda method, path: status
    code, _, error = command_line("push", str(folder), "org/name")
    assert code == 2
    assert re.fullmatch(rf"error: org/name: .*; .* \(HTTP {status}\)\n", error)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("org/none",), "no such repository or revision, or it is private"),
        (("org/name", "--revision", "v9"), "no such repository or revision"),
        (("name",), "error: name: a repository is ORG/NAME, or datasets/ORG/NAME"),
        (("org/other",), "org/other has no release.json; get it with `hf download org/other`"),
    ],
)
def test_what_cannot_be_pulled_is_said(hub, pushed, command_line, words, says):
    hub.repositories["model", "org/other"] = Repository()
    hub.repositories["model", "org/other"].commit("main", {"config.json": b"{}"})
    code, _, error = command_line("pull", *words)
    assert (code, says in error) == (2, True), error


def test_a_hub_that_is_not_there_is_said(hub, command_line, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    code, _, error = command_line("pull", "org/name")
    assert (code, error.startswith("error: org/name: ")) == (2, True)
    assert len(error.splitlines()) == 1


def test_a_pull_that_was_cut_resumes(hub, pushed, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 512)
    hub.fault = lambda method, path: "cut" if method == "GET" and "onnx" in path else None
    place = releases.Repository.parse("org/name")
    with pytest.raises(HubError, match="org/name: "):
        releases.pull(place, None, tmp_path / "pulled")
    hub.fault = lambda method, path: None
    releases.pull(place, None, tmp_path / "pulled")


@pytest.mark.parametrize("output", [None, "pulled"])
def test_a_changed_byte_is_refused_by_name_and_mended(hub, pushed, tmp_path, output):
    place, output = releases.Repository.parse("org/name"), output and tmp_path / output
    path = releases.pull(place, None, output).folder / "model.onnx"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    real = path.resolve()
    stamp = real.stat()
    real.write_bytes(content)
    os.utime(real, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    with pytest.raises(HubError, match=r"model\.onnx has the SHA-256 .*`moonlynx pull --force`"):
        releases.pull(place, None, output)
    releases.pull(place, None, output, force=True)


def test_a_hub_that_sends_other_bytes_is_refused(hub, pushed, tmp_path):
    files_of(hub)["luna.json"] += b" "
    with pytest.raises(HubError, match=r"luna\.json has the SHA-256"):
        releases.pull(releases.Repository.parse("org/name"), None, tmp_path / "pulled")


def test_a_file_that_is_missing_is_named(hub, pushed):
    del files_of(hub)["tokenizer.json"]
    with pytest.raises(HubError, match=r"tokenizer\.json is missing"):
        releases.pull(releases.Repository.parse("org/name"), None, None)


@pytest.mark.parametrize("name", ["model.pkl", "../x.json", "/etc/x.json"])
def test_a_release_of_other_than_data_is_not_fetched(hub, pushed, name):
    release = json.loads(files_of(hub)[RELEASE])
    release["files"][name] = {"sha256": "0" * 64, "size": 1}
    files_of(hub)[RELEASE] = json.dumps(release).encode()
    before = len(hub.seen)
    with pytest.raises(ValueError, match=re.escape(f"{name}: a release holds only files of")):
        releases.pull(releases.Repository.parse("org/name"), None, None)
    assert not any("onnx" in path for _, path, _ in hub.seen[before:])


@pytest.mark.parametrize("case", cases(__file__, "not_released"), ids=lambda case: case["says"])
def test_what_may_not_be_released_is_named(folder, case, command_line):
    for name, content in case["write"].items():
        (folder / name).write_text(content)
    for name in case.get("remove", ()):
        (folder / name).unlink()
    code, _, error = command_line("push", str(folder), "org/name")
    assert (code, case["says"] in error) == (2, True), error


def test_a_link_is_not_followed(folder, command_line):
    (folder / "notes.txt").symlink_to("/etc/hostname")
    code, _, error = command_line("push", str(folder), "org/name")
    assert (code, "notes.txt: a release holds only files" in error) == (2, True)


def test_the_heads_that_ship_are_pushed_and_pulled(hub):
    plan = plan_release(HEADS)
    releases.push(plan, "org/heads")
    pulled = releases.pull(releases.Repository.parse("org/heads"), None, None)
    assert (pulled.release, pulled.release.kind) == (plan.release, "heads")
    licences = {each.name: each.licence for each in pulled.release.licences}
    assert licences["goemotions"] == "Apache-2.0"


def test_a_benchmark_is_a_dataset(hub, built, command_line):
    code, out, error = command_line("push", str(built), "org/rows")
    assert (code, "test.parquet" in error) == (0, True)  # a progress bar
    assert out.splitlines()[-1].startswith("Pushed datasets/org/rows at ")
    assert set(files_of(hub, ("dataset", "org/rows"))) >= {"test.jsonl", "README.md", RELEASE}
    code, out, _ = command_line("pull", "datasets/org/rows")
    assert (code, "as released" in out) == (0, True)
    (built / "test.jsonl").write_text("{}\n")
    code, _, error = command_line("push", str(built), "org/rows")
    assert (code, "test.jsonl is not what was built; build it anew" in error) == (2, True)


def test_other_kinds_are_known_by_their_files(folder, tmp_path):
    card = (folder / "README.md").read_text()
    tensors = b"\x02" + bytes(7) + b"{}"
    settings = json.dumps({"base_model_name_or_path": "ORG/MODEL"}).encode()
    for kind, files in {
        "adapter": {"adapter_config.json": settings, "adapter_model.safetensors": tensors},
        "model": {"config.json": b"{}", "model.safetensors": tensors},
    }.items():
        made = tmp_path / kind
        made.mkdir()
        (made / "README.md").write_text(card)
        for name, content in files.items():
            (made / name).write_bytes(content)
        assert plan_release(made).release.kind == kind
    made = tmp_path / "adapter"
    for name, content, message in (
        (
            "README.md",
            re.sub(r"(?m)^base_model: .*$", f"base_model: {made}", card),
            "README.md: base_model",
        ),
        ("adapter_config.json", json.dumps({"base_model_name_or_path": str(made)}), "_or_path"),
    ):
        (made / name).write_text(content)
        with pytest.raises(ReleaseError, match=f"{message} is .* only this machine has"):
            plan_release(made)
    for broken in ("{", "[]", "{}"):
        (made / "adapter_config.json").write_text(broken)
        with pytest.raises(
            BackendError, match=r"adapter_config\.json is no JSON object with a base"
        ):
            plan_release(made)
