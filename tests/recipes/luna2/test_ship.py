"""An adapter's way out: trained, scored, with a card, and as one that ships."""

import json
import re

import pytest
from huggingface_hub import ModelCard
from typer.testing import CliRunner

from moonlynx.judge.metrics.adapter import HEAD, load_head_file
from moonlynx.judge.metrics.loading import load_metric
from moonlynx.judge.metrics.shipped import open_adapter
from moonlynx.model_card.adapter import render_adapter_card
from moonlynx.model_card.release import ReleaseError, plan_release
from moonlynx.model_card.results import CardError
from moonlynx.recipes.luna2.score import app as score
from moonlynx.recipes.luna2.ship import app as ship
from moonlynx.recipes.luna2.train import train

from ...cases import write_lines
from ...command import flat, moonlynx
from ...tiny_gguf import write_gguf
from .rows import TOXICITY, boolean, splits
from .test_train import tiny

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def trained(tiny_llama, tmp_path_factory):
    """Train on a GGUF file; return the run's folder, the file, and rows to score."""
    pytest.importorskip("xllamacpp")
    folder = tmp_path_factory.mktemp("run")
    file, rows = write_gguf(tiny_llama, folder / "tiny.gguf"), boolean()
    train(tiny(file), TOXICITY, splits(rows), folder)
    written = [
        {
            "input": "",
            "output": row.input.output,
            "labels": sorted(row.labels),
            "source": row.source,
        }
        for row in rows
    ]
    return folder, file, write_lines(folder / "rows.jsonl", *written)


@pytest.fixture(scope="module")
def scored(trained):
    """Score the rows twice: as those of the test, and as those of another source."""
    folder, _, rows = trained
    for name in ("scored.json", "scored-elsewhere.json"):
        options = [f"luna2:{folder / 'head'}", "--data", str(rows), "--output", str(folder / name)]
        done = CliRunner().invoke(score, options)
        assert done.exit_code == 0, done.output
    return folder


def test_what_is_scored_has_the_constant_beside_it(scored):
    found = json.loads((scored / "scored.json").read_text())
    assert found["figures"]["auroc"][0] == 1
    assert found["majority"]["auroc"][0] == 0.5
    assert found["majority"]["f1_macro"][0] == pytest.approx(1 / 3)  # half of the rows are right
    assert found["sources"] == {"made": found["rows"]}


def test_the_card_says_what_was_trained_and_found(scored, tmp_path):
    output = tmp_path / "README.md"
    done = moonlynx(
        "card", "--weights", scored / "head", "--run", scored / "run.json", "--output", output
    )
    assert done.exit_code == 0, done.output
    text = output.read_text(encoding="utf-8")
    assert re.search(r"^\| test +\| adapter +\| +16 \| +1\.000 ", text, re.MULTILINE)
    assert re.search(r"^\| elsewhere +\| majority +\| +16 \| +\.500 ", text, re.MULTILINE)
    assert "Rows by source: made 16." in text
    assert "16 rows of at most" in text
    assert "Attribution" not in text  # the rows are of no open set
    data = ModelCard(text).data
    assert {each.metric_type for each in data.eval_results} == {"f1", "roc_auc"}
    assert data.license == "other"  # of a backbone that is not known


def test_it_is_released_once_its_backbone_is_one_that_others_have(copied):
    head = copied / "head"
    card, settings = head / "README.md", head / "adapter_config.json"
    card.write_text(str(render_adapter_card(head, copied / "run.json")), encoding="utf-8")
    for path, field, name in (
        (settings, r'(?<="base_model_name_or_path": ").*?(?=")', "ORG/REPO/tiny.gguf"),
        (card, r"(?m)(?<=^base_model: ).*$", "ORG/REPO"),
    ):
        with pytest.raises(ReleaseError, match=f"{path.name}: base_model.* write the Hub's id"):
            plan_release(head)
        path.write_text(re.sub(field, name, path.read_text(encoding="utf-8")), encoding="utf-8")
    assert plan_release(head).release.kind == "adapter"
    card.unlink()
    with pytest.raises(ReleaseError, match="no card"):
        plan_release(head)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda folder: (folder / "scored.json").unlink(), "holds no scored.json; write it"),
        (lambda folder: (folder / "trained.json").write_text("{}"), "trained.json: rows: "),
        (lambda folder: (folder / "run.json").unlink(), "cannot read .*run.json"),
    ],
)
def test_a_card_is_not_written_of_what_was_not_measured(copied, change, says):
    change(copied)
    with pytest.raises(CardError, match=says):
        render_adapter_card(copied / "head", copied / "run.json")


def test_figures_of_another_adapter_are_refused(copied):
    head = json.loads((copied / "head" / HEAD).read_text()) | {"version": "0" * 12}
    (copied / "head" / HEAD).write_text(json.dumps(head))
    with pytest.raises(CardError, match=r"was measured of .*, and the adapter is 0000"):
        render_adapter_card(copied / "head", copied / "run.json")


def test_what_is_undefined_is_null_and_is_told(copied, trained, tmp_path):
    _, file, rows = trained
    found = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    one_class = [row for row in found if row["labels"] == found[0]["labels"]]
    quiet = write_lines(tmp_path / "quiet.jsonl", *one_class)
    output = copied / "scored-quiet.json"
    options = [f"luna2:{copied / 'head'}", "--data", str(quiet), "--output", str(output)]
    done = CliRunner().invoke(score, options)
    assert done.exit_code == 0, done.output
    assert json.loads(output.read_text())["figures"]["auroc"] == [None, None, None]

    text = str(render_adapter_card(copied / "head", copied / "run.json"))
    assert re.search(r"^\| quiet +\| adapter +\| +8 \| +undefined ", text, re.MULTILINE)

    given = [copied / "head", "--backbone", file, "--out", tmp_path, "--elsewhere", f"q={output}"]
    done = CliRunner().invoke(ship, list(map(str, given)))
    assert done.exit_code == 2
    assert "rows of both classes" in flat(done.output)
    output.replace(copied / "scored.json")  # the index leaves it out
    index = render_adapter_card(copied / "head", copied / "run.json").data.eval_results
    assert {each.metric_type for each in index} == {"f1"}


@pytest.fixture
def copied(scored, tmp_path):
    from shutil import copytree

    return copytree(scored, tmp_path / "run")


def test_what_ships_judges_as_it_did_without_its_tokenizer(scored, trained, tmp_path):
    _, file, _ = trained
    out, elsewhere = tmp_path / "toxicity", f"found={scored / 'scored-elsewhere.json'}"
    options = [scored / "head", "--backbone", file, "--out", out, "--elsewhere", elsewhere]
    done = CliRunner().invoke(ship, list(map(str, options)))
    assert done.exit_code == 0, done.output
    assert open_adapter("toxicity", tmp_path) == out
    assert not list(out.glob("tokenizer*"))
    head = load_head_file(out)
    assert head.elsewhere == {"found": (1, 1, 1)}
    assert head.backbone.size == file.stat().st_size
    weights = [folder / "adapter_model.safetensors" for folder in (out, scored / "head")]
    rounded, halves = (path.stat().st_size for path in weights)
    assert rounded < 0.6 * halves
    inputs = [row.input for row in boolean()]
    before, after = load_metric(f"luna2:{scored / 'head'}"), load_metric(f"luna2:{out}")
    assert after.info.version != before.info.version
    for one, other in zip(before(inputs), after(inputs), strict=True):
        assert other.labels == pytest.approx(one.labels, abs=0.05)

    wrong = [*options[:-1], f"found={tmp_path / 'none.json'}"]
    done = CliRunner().invoke(ship, list(map(str, wrong)))
    assert done.exit_code == 2
    assert "give SOURCE=FILE" in flat(done.output)
