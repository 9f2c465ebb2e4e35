import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ..serve.page.browsing import browsing, missing, requested

ATTACK = '"><script>document.body.remove()</script>|[x](javascript:y)`\x1b'


class Page(HTMLParser):
    """Collects the rows of all tables, by their first cells, and the tags that were seen."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.row = {}, [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.row = []
        elif tag == "td":
            self.row.append("")

    def handle_endtag(self, tag):
        if tag == "tr" and self.row:
            self.rows[self.row[0]] = self.row
        if tag == "tr":
            self.row = None

    def handle_data(self, data):
        if self.row:
            self.row[-1] += data


@pytest.fixture
def benchmark_file(fixtures, tmp_path):
    return Path(shutil.copy(fixtures / "benchmark.jsonl", tmp_path))


@pytest.fixture
def run(command_line, benchmark_file, tmp_path):
    """Judge the benchmark; return the folder."""

    def judge(name="run", *options, judge="token-similarity"):
        common = ("--benchmark", benchmark_file, "--resamples", 100, "--output", tmp_path / name)
        assert command_line("eval", *common, "--judge", judge, *options)[0] == 0
        return tmp_path / name

    return judge


@pytest.fixture
def board(command_line, tmp_path):
    """Make the leaderboard; return the folder, or the message of the failure."""

    def make(*arguments):
        output = tmp_path / "board"
        code, _, error = command_line("leaderboard", *arguments, "--output", output)
        return output if code == 0 else error

    return make


def read(folder):
    return Page((folder / "leaderboard.html").read_text(encoding="utf-8"))


def test_a_board_has_judges_baselines_and_what_is_added(run, board, fixtures, tmp_path):
    theirs = [*(fixtures / "verdicts-scripted.jsonl").read_text().splitlines()]
    (tmp_path / "theirs.jsonl").write_text("\n".join(reversed(theirs)) + "\n")
    folder = board(run(), "--add", f"Theirs={tmp_path / 'theirs.jsonl'}")
    page, text = read(folder), (folder / "leaderboard.md").read_text(encoding="utf-8")
    kinds = {name: row[1] for name, row in page.rows.items()}
    assert kinds == {
        "token-similarity": "judge",
        "Theirs": "added",
        "majority class (PASS)": "baseline",
        "always FAIL": "baseline",
    }
    # Worked out by hand in test_metrics.py, whatever the order of the file.
    assert [cell.split()[0] for cell in page.rows["Theirs"][2:7]] == [
        *("95.8", "65.7", "66.7", "66.7", "0.0")
    ]
    assert page.rows["Theirs"][9] == "2"
    ours = page.rows["token-similarity"]
    assert re.fullmatch(r"[\d.,]+", ours[7])
    assert ours[8:] == ["–", "0", "–", "Apache-2.0"]
    for name, row in page.rows.items():
        (line,) = (line for line in text.splitlines() if line.startswith(f"| {name} "))
        assert [cell.strip() for cell in line.strip("| ").split("|")] == row


def test_runs_on_the_same_rows_are_joined_and_others_apart(run, board):
    runs = [run(), run("rouge", judge="token-similarity?metric=rouge"), run("again")]
    page = read(board(*runs, run("sample", "--limit", "8")))
    assert sum(tag == "table" for tag, _ in page.tags) == 2
    assert {"token-similarity", "token-similarity?metric=rouge"} < page.rows.keys()
    alone = board(runs[1])
    assert "The word-overlap baseline is missing" in (alone / "leaderboard.md").read_text()


def test_published_rows_order_their_board(run, board):
    report = run() / "report.json"
    fields = json.loads(report.read_text())
    fields["benchmark"]["name"] = "ragtruth"
    report.write_text(json.dumps(fields))
    page = read(board(report.parent))
    assert next(iter(page.rows)) == "RAG-HAT, Llama-3-8B"
    assert page.rows["Luna (440M)"][4:] == ["65.4", *["–"] * 5, "440", "proprietary"]
    (head,) = (attrs for tag, attrs in page.tags if tag == "th" and "aria-sort" in attrs)
    assert head["aria-sort"] == "descending"
    # Parameters are known of five published rows, seconds of one judge alone.
    assert sum(tag == "svg" for tag, _ in page.tags) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[1:], "benchmark's 12 rows 1 have no verdict; the first is 'h1'"),
        (lambda lines: [*lines, lines[0]], "1 have two verdicts; the first is 'h1'"),
        (
            lambda lines: [*lines, lines[0].replace('"h1"', '"x9"')],
            "1 are of other verdicts' ids; the first is 'x9'",
        ),
        (lambda lines: [], "12 have no verdict"),
        (lambda lines: ["{}"], "line 1: is not a Verdict"),
    ],
)
def test_added_verdicts_are_complete(change, said, run, board, fixtures, tmp_path):
    lines = (fixtures / "verdicts-scripted.jsonl").read_text().splitlines()
    path = tmp_path / "theirs.jsonl"
    path.write_text("".join(f"{line}\n" for line in change(lines)))
    error = board(run(), "--add", f"Theirs={path}")
    assert said in error.replace("\n", " ")
    assert "Traceback" not in error


def test_what_cannot_be_read_is_named(run, board, benchmark_file, fixtures, tmp_path):
    assert "report.json" in board(tmp_path / "nowhere")
    folder, theirs = run(), fixtures / "verdicts-scripted.jsonl"
    assert "NAME=FILE" in board(folder, "--add", "Theirs")
    with benchmark_file.open("a") as file:
        file.write('{"id": "new", "context": "c", "answer": "a.", "label": "PASS"}\n')
    assert "are not those of the report" in board(folder, "--add", f"Theirs={theirs}")


def test_a_name_is_text(run, board, fixtures):
    folder = board(run(), "--add", f"{ATTACK}={fixtures / 'verdicts-scripted.jsonl'}")
    page = read(folder)
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert ATTACK.replace("\x1b", "\\x1b") in page.rows
    assert not any(value and "://" in value for _, attrs in page.tags for value in attrs.values())
    text = (folder / "leaderboard.md").read_text(encoding="utf-8")
    assert "<script>" not in text.replace("\\<", "")
    assert "[x](" not in text.replace("\\]", "")


@pytest.mark.heavy
def test_a_browser_sorts_and_filters_and_asks_for_nothing(run, board, fixtures, tmp_path):
    if why := missing("selenium"):
        pytest.skip(why)
    folder = board(run(), "--add", f"{ATTACK}={fixtures / 'verdicts-scripted.jsonl'}")
    with browsing(tmp_path) as browser:
        browser.get((folder / "leaderboard.html").as_uri())

        def column(number):
            rows = browser.find_elements("css selector", "tbody tr")
            return [
                row.find_elements("css selector", "td")[number].text
                for row in rows
                if row.is_displayed()
            ]

        heads = browser.find_elements("css selector", "th button")
        for _ in range(2):
            heads[2].click()
            shares = [float(text.split()[0]) for text in column(2)]
            down = heads[2].find_element("xpath", "..").get_attribute("aria-sort") == "descending"
            assert shares == sorted(shares, reverse=down)
            heads[7].click()
            assert column(7)[2:] == ["–", "–"], "what is not known is last either way"
        heads[0].click()
        assert column(0) == sorted(column(0), reverse=True, key=str.lower)
        browser.find_element("id", "text").send_keys("apache")
        assert column(0) == ["token-similarity"]
        browser.find_element("id", "text").clear()
        browser.find_element("css selector", "#kind option:last-child").click()
        assert len(column(0)) == 2
        assert browser.title == "Leaderboard of hallucination judges"
        assert browser.get_log("browser") == []
        urls = {one["request"]["url"] for one in requested(browser)}
        assert not any(url.startswith("http") for url in urls), urls
