"""One record of all benchmarks, and two runs side by side."""

import pytest

from .record import Bench, BenchError, Measurement, Origin, publish, render, spread


@pytest.fixture
def origin():
    return Origin.of("nothing", "no-such-package")


def bench(origin, *rates, **fields):
    rows = [
        Measurement(
            table="Speed",
            of={"judge": name, "tokens": 4_000},
            found={"answers/s": rate, "p50 ms": None},
            samples=(1.0, 2.0),
        )
        for name, rate in rates
    ]
    return Bench(title="A run", origin=origin, notes=("As asked.",), measurements=rows, **fields)


def cells_of(markdown, row):
    line = next(line for line in markdown.splitlines() if row in line)
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_report_says_where_it_comes_from_and_what_was_left_out(origin):
    page = render(bench(origin, ("luna", 12.345), left_out={"torch": "not here"}))
    assert page.startswith("# A run\n\n- ")
    assert f"moonlynx {origin.package_version}" in page
    assert "`python -m tests.bench.nothing" in page
    assert "no-such-package" not in page
    assert cells_of(page, "| luna ") == ["luna", "4,000", "12.3", "–"]
    assert page.endswith("## Not measured\n\n- torch: not here\n")


def test_an_earlier_run_stands_beside_this_one(origin, tmp_path, capsys):
    publish(bench(origin, ("luna", 10.0), ("gone", 1.0)), "a", tmp_path / "a.md", None)
    now = bench(origin, ("luna", 25.0), ("new", 3.0))
    publish(now, "b", tmp_path / "deep" / "b.md", tmp_path / "a.json")
    page = (tmp_path / "deep" / "b.md").read_text()
    assert page in capsys.readouterr().out
    assert cells_of(page, "answers/s")[-2:] == ["answers/s, earlier", "by earlier"]
    assert cells_of(page, "| luna ")[2:] == ["25", "–", "10", "2.50"]
    assert cells_of(page, "| new ")[2:] == ["3", "–", "–", "–"]
    assert Bench.model_validate_json((tmp_path / "deep" / "b.json").read_bytes()) == now
    with pytest.raises(BenchError, match=r"a\.md: not the record of a benchmark"):
        publish(now, "b", tmp_path / "b.md", tmp_path / "a.md")


def test_a_spread_is_of_the_median_and_the_slowest():
    assert spread([1.0, 1.0, 2.0]) == pytest.approx({"p50 s": 1.0, "p95 s": 1.9})
