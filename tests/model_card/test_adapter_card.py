from pathlib import Path

import pytest

from moonlynx.judge.metrics.shipped import ADAPTERS, adapters_in
from moonlynx.model_card.adapter import render_adapter_card
from moonlynx.model_card.release import plan_release

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("name", adapters_in())
def test_the_card_of_an_adapter_that_ships_is_what_its_run_renders(name):
    (folder,) = RESULTS.glob(f"*-{name.replace('_', '-')}/")
    card = str(render_adapter_card(ADAPTERS / name, folder / "run.json"))
    assert card == (ADAPTERS / name / "README.md").read_text(encoding="utf-8").rstrip("\n")
    release = plan_release(ADAPTERS / name).release
    assert release.kind == "adapter"
    assert all(each.licence for each in release.licences)
