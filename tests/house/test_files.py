import os.path
import re

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
