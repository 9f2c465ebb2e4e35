import json
import re
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from moonlynx.judge.metrics.adapter import HeadError
from moonlynx.judge.metrics.encoder import EMBEDDED
from moonlynx.judge.metrics.encoder.head import open_head, save_heads
from moonlynx.model_card.heads import render_heads_card
from moonlynx.model_card.results import CardError

(RESULTS,) = (Path(__file__).parents[2] / "docs" / "results").glob("*-28-luna2-heads/results.json")


@pytest.fixture
def found():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_card_of_the_heads_that_ship_is_what_their_run_renders():
    card = render_heads_card(EMBEDDED, RESULTS)
    assert str(card) == (EMBEDDED / "README.md").read_text(encoding="utf-8").rstrip("\n")
    shipped = {path.stem for path in EMBEDDED.glob("*.json")} - {"manifest"}
    assert set(re.findall(r"^\| `luna2:(\w+)`", str(card), re.MULTILINE)) == shipped
    indexed = {each.task_name: each for each in ModelCard(str(card)).data.eval_results}
    assert set(indexed) == shipped


def test_every_head_has_its_figures_and_where_it_holds_from(found):
    card = str(render_heads_card(EMBEDDED, RESULTS))
    for metric in ("tone", "sexism"):
        (line,) = re.findall(rf"^\| `luna2:{metric}`.*", card, re.MULTILINE)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for cell, system, name in zip(
            cells[2:6], ("head", "TF-IDF") * 2, ("f1_macro",) * 2 + ("auroc",) * 2, strict=True
        ):
            value = found[metric]["figures"][system][name][0]
            assert cell.split()[0] == f"{value:.3f}".removeprefix("0")
    assert cells[-1] == f"true {found['sexism']['thresholds']['true']:.2f}"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("thresholds", {"true": 0.999}, "sexism: the run's results are of another head"),
        ("ships", False, "sexism: by the run's results no head of it ships"),
        ("fitted", "many", "sexism.fitted: "),
    ],
)
def test_results_of_other_heads_are_refused(tmp_path, found, field, value, says):
    found["sexism"][field] = value
    path = tmp_path / "results.json"
    path.write_text(json.dumps(found))
    with pytest.raises(CardError, match=re.escape(says)):
        render_heads_card(EMBEDDED, path)


def test_heads_that_do_not_go_together_are_refused(tmp_path):
    one, other = (open_head(EMBEDDED, name) for name in ("sexism", "pii"))
    save_heads([one, other.model_copy(update={"encoder": "0" * 12})], tmp_path)
    with pytest.raises(HeadError, match="of different encoders"):
        render_heads_card(tmp_path, RESULTS)
    save_heads([], tmp_path)
    with pytest.raises(CardError, match="holds no head"):
        render_heads_card(tmp_path, RESULTS)


def test_the_command_writes_it_and_says_what_is_wrong(card_command, fault, report_folder, tmp_path):
    output = tmp_path / "README.md"
    options = {"weights": EMBEDDED, "run": RESULTS, "output": output}
    assert "the card of heads takes no --report" in fault(**options, report=report_folder)
    said = fault(**(options | {"run": tmp_path / "results.json"}))
    assert f"cannot read {tmp_path / 'results.json'}" in said
    elsewhere = options | {"weights": tmp_path}
    assert "manifest.json" in fault(**elsewhere)
    (tmp_path / "manifest.json").write_text('{"files": 3}')
    assert "manifest.json: files: Input should be an object" in fault(**elsewhere)
    assert not output.exists()
    assert card_command(**options) == (0, f"Wrote {output}\n", "")
    assert output.read_text(encoding="utf-8").startswith("---\n")
