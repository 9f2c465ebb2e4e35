import re
import tomllib
from itertools import pairwise
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "docs" / "results").glob("2*.md"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "recipes").glob("*/README.md")),
    *(ROOT / room / "README.md" for room in ("halubench", "serve/vllm", "serve/deploy")),
]
# Results, decisions and the changelog name what was there on their day.
DATED = {"results", "decisions", "CHANGELOG.md"}
CURRENT = [page for page in PAGES if DATED.isdisjoint(page.parts)]
ENTRY_POINTS = {"moonlynx.judges", "moonlynx.metrics"}
STATUS = re.compile(r"Status: (?:current\.|superseded by \[[^\]]+\]\((?P<page>[^)#]+)(?:#.*)?\)\.)")
ROOMS = ("judge", "halubench", "recipes", "eval", "serve", "model_card")


def short(page):
    return page.relative_to(ROOT).as_posix()


def read(page):
    return page.read_text(encoding="utf-8")


def missing(text):
    names = set(re.findall(r"\bmoonlynx\.[a-z]\w*(?:\.\w+)*", text)) - ENTRY_POINTS
    return {name for name in names if not is_there(name.split(".")[1:])}


def is_there(parts):
    modules = [ROOT.joinpath(*parts[:end]).with_suffix(".py") for end in range(1, len(parts) + 1)]
    return ROOT.joinpath(*parts).is_dir() or any(module.exists() for module in modules)


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", read(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_links_lead_somewhere(page):
    for path, anchor in re.findall(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)", read(page)):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


@pytest.mark.parametrize("page", CURRENT, ids=short)
def test_paths_and_modules_in_backticks_exist(page):
    text = re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)
    for name in re.findall(r"`(?:python -m )?([\w.-]+(?:/[\w.-]+)+)/?`", text):
        if name.partition("/")[0] in (*ROOMS, "tests", "docs", "examples", "src"):
            assert (ROOT / name).exists(), name
    assert missing(read(page)) == set()


def test_the_tests_that_hold_an_attack_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", read(ROOT / "SECURITY.md"))
    assert len(named) > 30
    for path, test in named:
        assert not test or f"def {test}(" in read(ROOT / path), f"{path}::{test}"


@pytest.mark.parametrize("page", RESULTS, ids=short)
def test_a_results_page_opens_with_its_status(page):
    title, blank, line = read(page).splitlines()[:3]
    assert title.startswith("# ")
    assert not blank
    status = STATUS.match(line)
    assert status, line
    assert not status["page"] or STATUS.match(read(page.parent / status["page"]).splitlines()[2])
    beside = [page.with_suffix(""), page.with_suffix(".jsonl")]
    assert not status["page"] or not any(one.exists() for one in beside)


@pytest.mark.parametrize("page", RESULTS, ids=short)
def test_a_results_page_says_what_is_gone(page):
    said = re.findall(r"^(?:Removed|Moved) since: (.+)$", read(page), flags=re.MULTILINE)
    assert missing(read(page)) <= missing(" ".join(said))


def test_the_pages_list_the_results_and_the_rooms():
    listed = re.findall(r"\]\((2[^)]+\.md)\)", read(ROOT / "docs" / "results" / "README.md"))
    assert sorted(listed) == [page.name for page in RESULTS]
    page = read(ROOT / "docs" / "architecture.md")
    listed = re.findall(r"^\| `([\w/]+)/` \|", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted(rooms_there())


def rooms_there():
    for room in ROOMS:
        yield room
        for folder in sorted((ROOT / room).iterdir()):
            if folder.is_dir() and folder.name != "__pycache__" and any(folder.iterdir()):
                yield f"{room}/{folder.name}"


def imported_by(graph, room):
    own = {name for name in graph.modules if f"{name}.".startswith(f"moonlynx.{room}.")}
    return set().union(*map(graph.find_modules_directly_imported_by, own)), own


def test_the_picture_is_drawn_from_what_is_there():
    """Its rooms exist, and of two that a full arrow joins one imports the other."""
    (picture,) = re.findall(r"```mermaid\n(.*?)```", read(ROOT / "docs/architecture.md"), re.DOTALL)
    paths = dict(re.findall(r'(\w+)\["([\w/.]+)', picture))
    assert [path for path in paths.values() if not (ROOT / path).exists()] == []
    graph = grimp.build_graph("moonlynx", cache_dir=None)
    chains = [
        line.split(" --> ")
        for line in re.sub(
            r'\["[^"]*"\]|^ +|.*-\.->.*', "", picture, flags=re.MULTILINE
        ).splitlines()
    ]
    arrows = [arrow for chain in chains for arrow in pairwise(chain)]
    assert len(arrows) > 12
    for arrow in arrows:
        (one, ours), (other, theirs) = [
            imported_by(graph, paths[name].removesuffix(".py").replace("/", ".")) for name in arrow
        ]
        assert one & theirs or other & ours, arrow


def test_the_floors_are_those_that_are_held():
    page = read(ROOT / "docs" / "architecture.md")
    settings = tomllib.loads(read(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    rooms, judge = [
        [
            re.sub(r"moonlynx\.(judge\.)?", "", layer).replace(" | ", "   ")
            for layer in one["layers"]
        ]
        for one in settings
        if one["name"].startswith("Floors") and "recipes" not in one["name"]
    ]
    top = len(rooms)
    assert "\n".join(f"{top - depth}  {room}" for depth, room in enumerate(rooms)) in page
    assert f"Inside `judge`: {' > '.join(judge)}." in page


def test_the_readme_is_short():
    text = read(ROOT / "README.md")
    assert text.count("\n") <= 200
    first_screen = text.partition("```")[0]
    sentences = re.split(r"(?<=[.?!:*])\s+", first_screen)
    assert [sentence for sentence in sentences if len(sentence.split()) > 25] == []
