from pathlib import Path

import pytest
import yaml

from moonlynx.recipes.data.mixes import Mix
from moonlynx.recipes.luna import settings
from moonlynx.recipes.luna.settings import Run, Stage
from moonlynx.recipes.runs import SettingsError, claim_folder, find_recipe, read_run

from ...cases import cases

RECIPES = sorted(path.stem for path in Path(settings.__file__).parent.glob("*.yaml"))
LEAST = {"base": "some/trunk", "stages": {"pairs": {"pairs": {"snli": 10}, "epochs": 1}}}


def write(folder, **changes):
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(LEAST | changes), encoding="utf-8")
    return path


def test_the_recipes_that_there_are_and_the_papers_settings():
    assert {name: read_run(find_recipe(name, settings.RECIPES), Run).mix for name in RECIPES} == {
        "base": "shipped",
        "base-continued": "shipped",
        "base-gpu": "shipped",
        "deberta-v3-large": "shipped",
        "luna-paper": "research",
        "mini": "shipped",
        "mini-distilled": "shipped",
        "mini-no-ragtruth": "no-ragtruth",
        "modernbert-base": "shipped",
        "modernbert-large": "shipped",
    }
    for name in ("deberta-v3-large", "luna-paper"):
        run = read_run(find_recipe(name, settings.RECIPES), Run)
        assert run.base == "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli"
        (stage,) = run.stages.values()
        assert (stage.lr_trunk, stage.lr_heads, stage.epochs) == (5e-6, 2e-5, 3)
        assert (run.head_from, run.window) == ("nli", 512)
    assert (run.windows, run.score) == (0, "paper")
    assert (stage.pairs, stage.answers, stage.right, stage.synthetic) == ({}, {}, (), 0)
    assert len(stage.labelled) == 12
    path = settings.RECIPES.parent / "raghalu" / "tier2-deberta-v3-large.yaml"
    run = read_run(path, Run)
    for stage in run.stages.values():
        Mix(run.mix).check(stage.pairs, stage.answers, stage.right)
    assert f"moonlynx train luna recipes/raghalu/{path.name}" in path.read_text()


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_a_run_over_sets_that_its_mix_allows(name):
    run = read_run(find_recipe(name, settings.RECIPES), Run)
    mix = Mix(run.mix)
    for stage in run.stages.values():
        mix.check(stage.pairs, stage.answers, stage.right)
        assert stage.lr_trunk < stage.lr_heads
        assert stage.batch_tokens >= run.window
    changed = {"perturbed", "removed", "shuffled"}
    if name == "luna-paper":
        assert run.stages["rag-qa"].changed.keys() == {"inserted", "shuffled"}
    else:
        assert run.stages["answers"].changed.keys() == changed


@pytest.mark.parametrize(("changes", "message"), cases(__file__, "wrong"))
def test_what_is_wrong_is_named(tmp_path, changes, message):
    with pytest.raises(SettingsError, match=message) as caught:
        read_run(write(tmp_path, **changes), Run)
    assert "run.yaml" in str(caught.value)


def test_a_file_that_is_none(tmp_path):
    path = write(tmp_path)
    assert find_recipe(str(path), settings.RECIPES) == path
    known = r"no recipe is called 'micro'.*deberta-v3-large, luna-paper, mini"
    with pytest.raises(SettingsError, match=known):
        find_recipe("micro", settings.RECIPES)
    with pytest.raises(SettingsError, match="cannot read"):
        read_run(tmp_path / "none.yaml", Run)
    (tmp_path / "broken.yaml").write_text("a: [")
    with pytest.raises(SettingsError, match="is not YAML"):
        read_run(tmp_path / "broken.yaml", Run)


def test_a_folder_claimed_by_an_earlier_version_is_resumed(tmp_path):
    stage = {"made": 3, "epochs": 1}
    run = Run.model_validate(LEAST | {"stages": {"one": stage}})
    assert run.stages["one"].synthetic == 3
    claim_folder(tmp_path, run)
    path = tmp_path / "run.json"
    path.write_text(path.read_text().replace('"synthetic"', '"made"'))
    claim_folder(tmp_path, run)
    for other in (run.model_copy(update={"seed": 1}), None):
        if other is None:
            path.write_text("{}")
        with pytest.raises(SettingsError, match=r"run\.json has other settings"):
            claim_folder(tmp_path, other or run)


def test_a_budget_is_tokens_or_epochs_and_the_judge_is_read_as_it_was_trained():
    assert Stage(epochs=1.5).budget(1000) == 1500
    assert Stage(budget_tokens=70).budget(1000) == 70
    run = Run.model_validate(LEAST | {"window": 200, "lead": 20, "claim": 50, "windows": 3})
    config = run.config("min", "noisy-or")
    assert config.limits == run.limits
    assert (config.windows, config.aggregation, config.answer) == (3, "min", "noisy-or")


@pytest.mark.parametrize(("mix", "sets"), cases(__file__, "not_allowed"))
def test_a_set_that_the_mix_does_not_allow_is_refused(mix, sets):
    (field,) = sets
    (name,) = sets[field]
    with pytest.raises(SettingsError, match=f"{field}: {name} is not in the mix '{mix}'"):
        Mix(mix).check(**{"pairs": (), "answers": (), "right": ()} | sets)
