"""The paper's second tier as a run of Luna's recipe."""

from pathlib import Path

import moonlynx.recipes.raghalu as package
from moonlynx.recipes.data.mixes import Mix
from moonlynx.recipes.luna.settings import Run
from moonlynx.recipes.runs import read_run

FOLDER = Path(package.__file__).parent


def test_every_run_is_one_that_lunas_recipe_takes():
    paths = sorted(FOLDER.glob("*.yaml"))
    assert [path.stem for path in paths] == ["tier2-deberta-v3-large"]
    for path in paths:
        run = read_run(path, Run)
        for stage in run.stages.values():
            Mix(run.mix).check(stage.pairs, stage.answers, stage.right)
        assert f"moonlynx train luna recipes/raghalu/{path.name}" in path.read_text()
