import json

import pytest
from huggingface_hub import HfApi, constants

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.backends.gguf import find_gguf
from moonlynx.judge.backends.pretrained import load_causal
from moonlynx.judge.contract.spec import SpecError
from moonlynx.judge.contract.types import Example
from moonlynx.judge.decision.calibration import load_calibration
from moonlynx.judge.judges.luna.config import LunaError
from moonlynx.judge.registry import load_judge
from moonlynx.model_card import hub as releases
from moonlynx.model_card.release import plan_release
from moonlynx.recipes.chat.model import BaseNotUsable, load_model, whole_base
from moonlynx.recipes.chat.settings import Lora, Run
from moonlynx.recipes.runs import SettingsError

from ..judge.judges.prompted.tiny_nli import build_classifier

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=")
LORA = Lora(rank=4, alpha=8, dropout=0)
EXAMPLE = Example(context="The tower was opened in 1932.", answer="The tower was opened in 1932.")


@pytest.fixture
def commits(hub, folder):
    """Push two versions of the weights; return their commits, the first of them tagged."""
    first = releases.push(plan_release(folder), "org/tiny", tag="v1")
    (folder / "notes.txt").write_text("of the second")
    return first, releases.push(plan_release(folder), "org/tiny")


def go_offline(hub, monkeypatch):
    hub.seen.clear()
    hub.fault = lambda method, path: pytest.fail(f"asked for {path}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def test_the_first_use_downloads_and_the_next_needs_no_network(
    hub, commits, folder, command_line, monkeypatch
):
    words = ["judge", "--judge", "luna:org/tiny", "--context", EXAMPLE.context[0]]
    words += ["--answer", EXAMPLE.answer, "--format", "json"]
    code, out, error = command_line(*words)
    assert (code, json.loads(out)["score"]) == (0, "PASS")
    assert "Fetching" in error  # a bar
    version = load_judge(f"luna:{folder}").info.version
    assert json.loads(out)["judge"] == {"name": "luna", "version": f"{version}@{commits[1][:12]}"}
    go_offline(hub, monkeypatch)
    assert command_line(*words)[:2] == (code, out)


@pytest.mark.parametrize("revision", ["v1", "commit", "main"])
def test_a_revision_is_loaded_and_named(hub, commits, monkeypatch, revision):
    commit = commits[revision == "main"]
    name = f"luna:org/tiny?revision={commit if revision == 'commit' else revision}"
    (verdict,) = load_judge(name)([EXAMPLE])
    assert verdict.judge.version.endswith(f"@{commit[:12]}")
    go_offline(hub, monkeypatch)
    assert load_judge(name)([EXAMPLE]) == [verdict]


def test_a_revision_that_is_not_there_is_said(commits):
    with pytest.raises(LunaError, match=r"org/tiny@v9 is not a folder here .*HTTP 404"):
        load_judge("luna:org/tiny?revision=v9")


@pytest.mark.parametrize(
    "name", ["luna", "luna:mini", "luna:./tiny", "token-similarity", "lynx:org/m@http://h/v1"]
)
def test_a_revision_is_of_a_model_of_the_hub(name):
    with pytest.raises(SpecError, match="revision= needs a model of the Hub, as in "):
        load_judge(f"{name}?revision=v1")


def test_a_changed_byte_in_the_cache_is_refused_by_name(commits):
    load_judge("luna:org/tiny")
    folder = releases.pull(releases.Repository.parse("org/tiny"), None, None).folder
    (folder / "luna.json").resolve().write_text("{}")
    with pytest.raises(LunaError, match=r"luna\.json has the SHA-256 .*`moonlynx pull --force`"):
        load_judge("luna:org/tiny")


def test_a_pulled_folder_is_held_to_its_manifest(commits, tmp_path):
    releases.pull(releases.Repository.parse("org/tiny"), None, tmp_path / "pulled")
    assert load_judge(f"luna:{tmp_path / 'pulled'}").info.version.count("@") == 0
    (tmp_path / "pulled" / "calibration.json").write_text("{}")
    with pytest.raises(LunaError, match=r"calibration\.json is not in release\.json; remove it"):
        load_judge(f"luna:{tmp_path / 'pulled'}")


def test_a_calibration_is_of_the_weights_and_not_of_the_commit(commits, command_line, tmp_path):
    rows = [
        {"context": "The tower was opened in 1932.", "answer": f"It was opened in {year}."}
        for year in (1932, 1950) * 10
    ]
    labels = [{"label": "PASS"}, {"label": "FAIL"}] * 10
    data, output = tmp_path / "rows.jsonl", tmp_path / "fitted.json"
    lines = [json.dumps(row | label) for row, label in zip(rows, labels, strict=True)]
    data.write_text("\n".join(lines))
    name = "luna:org/tiny?revision=v1"
    words = ("calibrate", "--judge", name, "--data", data, "--output", output)
    assert command_line(*words)[0] == 0
    assert "@" not in load_calibration(output).judge.version
    (verdict,) = load_judge(f"luna:org/tiny?calibration={output}")([EXAMPLE])
    assert verdict.probability is not None


def test_a_gguf_file_at_a_revision(hub):
    api = HfApi(endpoint=hub.url)
    api.create_repo("org/files")
    for content in (b"old", b"new"):
        commit = api.upload_file(
            path_or_fileobj=content, path_in_repo="q4/m.gguf", repo_id="org/files"
        )
    api.create_tag("org/files", tag="v2", revision=commit.oid)
    api.upload_file(path_or_fileobj=b"newest", path_in_repo="q4/m.gguf", repo_id="org/files")
    for revision, content in (("", b"newest"), ("@v2", b"new")):
        assert find_gguf("llamacpp", f"org/files/q4/m.gguf{revision}").read_bytes() == content
    with pytest.raises(BackendError, match=r"org/files@v2 has no file q5/m\.gguf"):
        find_gguf("llamacpp", "org/files/q5/m.gguf@v2")


@pytest.mark.heavy
def test_models_of_other_libraries_are_pinned_too(hub, tiny_llama, tmp_path, monkeypatch):
    api = HfApi(endpoint=hub.url)
    folders = {"org/llama": tiny_llama, "org/nli": build_classifier(tmp_path / "nli")}
    commits = {}
    for name, folder in folders.items():
        api.create_repo(name)
        commits[name] = api.upload_folder(folder_path=folder, repo_id=name).oid
        api.create_tag(name, tag="v1")
    judges = {"org/llama": "lynx:org/llama@transformers", "org/nli": "nli:org/nli"}
    for name, judge in judges.items():
        loaded = load_judge(f"{judge}?revision=v1")
        assert (loaded.info.name, loaded.info.version.rpartition("@")[2]) == (
            judge,
            commits[name][:12],
        )
    go_offline(hub, monkeypatch)
    (verdict,) = load_judge("nli:org/nli?revision=v1")([EXAMPLE])
    assert verdict.judge == loaded.info


@pytest.mark.heavy
def test_adapters_of_the_hub_are_trained_on(hub, tiny_llama, tmp_path):
    import torch
    from peft import LoraConfig, get_peft_model

    adapters = tmp_path / "adapters"
    settings = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    network = load_causal(tiny_llama, dtype=torch.float32)
    network.name_or_path = "org/llama"
    get_peft_model(network, settings).save_pretrained(adapters, save_embedding_layers=False)
    api = HfApi(endpoint=hub.url)
    for name, folder in (("org/llama", tiny_llama), ("org/adapters", adapters)):
        api.create_repo(name)
        api.upload_folder(folder_path=folder, repo_id=name)
    api.create_tag("org/adapters", tag="v1")
    run = Run(base="org/adapters", revision="v1", method="lora", lora=LORA, attention="sdpa")
    assert whole_base(run) == "org/llama"
    hub.seen.clear()
    assert load_model(run).peft_config["default"].base_model_name_or_path == "org/llama"
    assert not [path for _, path, _ in hub.seen if "org/adapters" in path], "asked for once a run"
    with pytest.raises(SettingsError, match=r"lora\.rank: write 4, as the adapters in"):
        whole_base(run.model_copy(update={"lora": LORA.model_copy(update={"rank": 8})}))
    with pytest.raises(BaseNotUsable, match="base: org/none@v1 is not a folder here"):
        whole_base(run.model_copy(update={"base": "org/none"}))
