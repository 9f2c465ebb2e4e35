"""The second command of the README passes where no labelled data lies beside the checkout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "tests" / "labelled_data.py"
PRINT = "import runpy, sys; print(*runpy.run_path(sys.argv[1])['needs_data'].mark.args)"


def environment(value):
    bare = {key: text for key, text in os.environ.items() if key != "MOONLYNX_DATA"}
    return bare if value is None else bare | {"MOONLYNX_DATA": value}


@pytest.mark.parametrize(
    ("value", "skipped"), [(None, True), ("", True), ("no/such/folder", True), (".", False)]
)
def test_tests_over_data_are_skipped_where_there_is_none(tmp_path, value, skipped):
    (tmp_path / "exclude_from_training.json").write_text("{}")
    command = [sys.executable, "-c", PRINT, str(MODULE)]
    output = subprocess.check_output(command, env=environment(value), cwd=tmp_path, text=True)
    assert output.split() == [str(skipped)]


@pytest.mark.parametrize("beside", [False, True])
def test_make_names_the_data_only_where_it_lies(tmp_path, beside):
    checkout, data = tmp_path / "checkout", tmp_path / "shared" / "data"
    checkout.mkdir()
    if beside:
        data.mkdir(parents=True)
    (checkout / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    show = 'show: ; @echo "$${MOONLYNX_DATA-unset}"'
    command = ["make", "--silent", f"--eval={show}", "show"]
    output = subprocess.check_output(command, env=environment(None), cwd=checkout, text=True)
    assert output.strip() == (str(data) if beside else "unset")
