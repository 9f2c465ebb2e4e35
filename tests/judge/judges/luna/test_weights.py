import json
import shutil

import pytest

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.contract.spec import SpecError
from moonlynx.judge.contract.types import Example, JudgeInfo
from moonlynx.judge.files.stored import load_record, save_record
from moonlynx.judge.judges.luna import weights as module
from moonlynx.judge.judges.luna.config import LunaConfig, LunaError
from moonlynx.judge.judges.luna.weights import load_tokenizer, open_weights, write_manifest
from moonlynx.judge.registry import load_judge

from ....cases import cases
from ....fitting import fit
from .tiny import CONFIG

EXAMPLE = Example(context="The tower is red.", answer="The bridge was green.")


@pytest.fixture
def own(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "own")


def test_the_tokenizer_cuts_and_pads_nothing(folder):
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    assert len(tokenizer.encode("red " * 30, add_special_tokens=False).ids) == 30
    assert len(tokenizer.encode("red", add_special_tokens=False).ids) == 1
    sep = tokenizer.token_to_id("[SEP]")
    assert sep not in tokenizer.encode("[SEP]", add_special_tokens=False).ids


def test_the_registry_makes_the_judge(folder):
    judge = load_judge(f"luna:{folder}")
    (verdict,) = judge([EXAMPLE])
    assert verdict.score == "FAIL"
    assert [span.text for span in verdict.spans] == ["bridge was green"]
    assert load_judge(f"luna:{folder}@onnx?windows=0").info.version.startswith("tiny-w0-")
    assert "-w1-c0.5-" in load_judge(f"luna:{folder}?closest=0.5").info.version
    with pytest.raises(SpecError, match="closest=2: must be from 0 to 1"):
        load_judge(f"luna:{folder}?closest=2")
    assert load_judge(f"luna:{folder}?threshold=1")([EXAMPLE])[0].score == "PASS"


@pytest.mark.parametrize("name", ["luna.json", "tokenizer.json", "model.onnx"])
def test_a_changed_or_missing_file_is_named(own, name):
    with (own / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(LunaError, match=rf"{name} has the SHA-256 .*fetch the folder anew"):
        open_weights(str(own), "onnx")
    (own / name).unlink()
    with pytest.raises(LunaError, match=rf"{name} is missing"):
        open_weights(str(own), "onnx")
    write_manifest(own)
    with pytest.raises(LunaError, match=rf"{name} is not in"):
        open_weights(str(own), "onnx")


def test_only_the_files_of_the_backend_are_asked_for(own):
    with pytest.raises(LunaError, match=r"config\.json is not in"):
        open_weights(str(own), "torch")
    (own / "model.safetensors").write_bytes(b"not read")
    open_weights(str(own), "onnx")


@pytest.mark.parametrize(
    "content", [None, "[]", "{", '{"files": {"luna.json": "0"}}', '{"file": {}}']
)
def test_a_broken_manifest_is_refused(own, content):
    (own / "manifest.json").unlink()
    if content is not None:
        (own / "manifest.json").write_text(content)
    with pytest.raises(LunaError, match=r"manifest\.json: files?|write_manifest"):
        open_weights(str(own), "onnx")


def test_a_tokenizer_without_separators_is_refused(own):
    tokenizer = json.loads((own / "tokenizer.json").read_text())
    tokenizer["added_tokens"] = []
    tokenizer["model"]["vocab"].pop("[SEP]")
    (own / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(LunaError, match=r"tokenizer\.json is no tokenizer that Luna can use"):
        load_tokenizer(own / "tokenizer.json")


@pytest.mark.parametrize(("change", "field"), cases(__file__, "wrong_configurations"))
def test_a_wrong_configuration_names_the_field(tmp_path, change, field):
    path = tmp_path / "luna.json"
    path.write_text(json.dumps(CONFIG.model_dump() | change))
    with pytest.raises(LunaError, match=rf"luna\.json: {field}"):
        load_record(path, LunaConfig, LunaError)


def calibrate(folder, judge, by=0.0):
    calibration = fit(judge, [0.1 + by, 0.9 + by] * 10, ["PASS", "FAIL"] * 10, "temperature")
    save_record(calibration, folder / "calibration.json")
    write_manifest(folder)


def test_the_folders_calibration_is_applied_to_its_own_judge(own):
    (bare,) = load_judge(f"luna:{own}")([EXAMPLE])
    calibrate(own, bare.judge)
    (verdict,) = load_judge(f"luna:{own}")([EXAMPLE])
    assert verdict.probability is not None
    assert verdict.model_copy(update={"probability": None}) == bare
    # The calibration's threshold decides, unless another is given.
    calibrate(own, bare.judge, by=2.0)
    assert load_judge(f"luna:{own}")([EXAMPLE])[0].score == "PASS"
    assert load_judge(f"luna:{own}?threshold=0.5")([EXAMPLE])[0].score == "FAIL"
    # Fitted for another number of windows, it says nothing.
    assert load_judge(f"luna:{own}?windows=0")([EXAMPLE])[0].probability is None
    calibrate(own, JudgeInfo(name="luna", version="other"))
    assert load_judge(f"luna:{own}")([EXAMPLE])[0].probability is None


def test_what_is_not_there_is_named(monkeypatch, tmp_path):
    with pytest.raises(BackendError, match="/nowhere/luna"):
        load_judge("luna:/nowhere/luna")
    with pytest.raises(LunaError, match="nobody/nothing is not a folder here"):
        load_judge("luna:nobody/nothing")
    monkeypatch.setitem(module.EMBEDDED, None, tmp_path)
    with pytest.raises(LunaError, match="luna:FOLDER_OR_HUB_ID"):
        load_judge("luna")
