import os
import os.path
import re
import subprocess
import sys
from pathlib import Path

import pytest

import moonlynx

LINE_LIMIT = 500
# Folders of one machine or another; a link's own path may hold such a word after other letters.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|opt|tmp|home|Users|mnt)/")


def texts(tracked, root):
    for path in tracked:
        if not (root / path).is_symlink():
            try:
                yield path, (root / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # a binary file


def test_no_python_file_is_long(tracked, root):
    lengths = {
        str(path): text.count("\n") for path, text in texts(tracked, root) if path.suffix == ".py"
    }
    assert "judge/contract/types.py" in lengths
    assert {path: count for path, count in lengths.items() if count > LINE_LIMIT} == {}


def test_no_pattern_has_a_possessive_group(tracked, root):
    """Before Python 3.11.5, `(...)*+` matched otherwise where the group can be read in two ways."""
    possessive = re.compile(r"(?<!\\)\)(?:[*+?]|\{[\d,]+\})\+")
    assert possessive.search(r"(?:a|b)*+")
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts(tracked, root)
        if path.suffix == ".py" and path.parts[0] != "tests"
        for number, line in enumerate(text.splitlines(), start=1)
        if possessive.search(line)
    ]
    assert found == []


def test_no_file_names_a_machines_folders(tracked, root):
    found = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path, text in texts(tracked, root)
        if path.parts[0] != "tests"
        for number, line in enumerate(text.splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]
    assert found == []
    for root_folder in ("tmp", "work"):
        folder = f"/{root_folder}/x"  # put together: no file names one, this one neither
        assert MACHINE_PATH.search(f"see {folder}")
        assert not MACHINE_PATH.search(f"https://example.org{folder} and docs{folder}")


def test_links_stay_inside_the_repository(tracked, root):
    links = [path for path in tracked if (root / path).is_symlink()]
    assert links
    for path in links:
        target = (root / path).readlink()
        assert not target.is_absolute()
        inside = os.path.normpath(path.parent / target)
        assert inside == path.name, f"{path} leads to {target}"


def test_the_changelog_opens_with_this_version(root):
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    released = [heading for heading in headings if not heading.endswith("unreleased")]
    assert released[0].split()[0] == moonlynx.__version__


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
