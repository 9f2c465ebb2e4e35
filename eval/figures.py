"""Draw curves as SVG, in Okabe and Ito's colours, which colour-blind readers can tell apart."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from .curves import Curves
from .records import Report

RELIABILITY = "reliability.svg"
COVERAGE_RISK = "coverage-risk.svg"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
_LEFT, _TOP, _SIDE = 70, 40, 360  # pixels: where the square of the axes is
_WIDTH, _LINE = 500, 18
_LONGEST = 62  # characters of a judge's name that fit under the axes
Ticks = Sequence[tuple[float, str]]  # along an axis: the share of its length, and what is there
_DIAGONAL = f'<path class="rule" d="M{_LEFT} {_TOP + _SIDE}L{_LEFT + _SIDE} {_TOP}"/>'


class Series(NamedTuple):
    """A line through points of shares; `dots` are points to mark with their radii."""

    name: str
    points: Sequence[tuple[float, float]]
    dots: Sequence[tuple[float, float, float]]


def figures(report: Report) -> dict[str, str]:
    """Return each figure's file name and SVG; none where no judge has probabilities."""
    if not report.curves:
        return {}
    return {
        RELIABILITY: draw(
            "Reliability",
            ("probability of being hallucinated", "share that is hallucinated"),
            [_reliability(curves) for curves in report.curves],
            _DIAGONAL,
            "dashed: probabilities that are true; larger dots: more rows",
        ),
        COVERAGE_RISK: draw(
            "Coverage and risk",
            ("share of answers passed", "share of those that is hallucinated"),
            [_coverage_risk(curves) for curves in report.curves],
            "",
            "large dot: the judge's own PASS; small dots: passed with abstention",
        ),
    }


def _reliability(curves: Curves) -> Series:
    most = max(each.rows for each in curves.reliability)
    points = [(each.probability, each.fail_share) for each in curves.reliability]
    radii = [1.5 + 4.5 * (each.rows / most) ** 0.5 for each in curves.reliability]
    return Series(curves.system, points, [(*p, r) for p, r in zip(points, radii, strict=True)])


def _coverage_risk(curves: Curves) -> Series:
    points = [(each.coverage, each.risk) for each in curves.coverage_risk]
    marked = [(each.found, 3.5) for each in curves.certified] + [(curves.decided, 6.0)]
    dots = [(point.coverage, point.risk, radius) for point, radius in marked if point is not None]
    return Series(curves.system, points, dots)


def draw(
    title: str,
    axes: tuple[str, str],
    series: Sequence[Series],
    rule: str,
    note: str,
    span: tuple[float, float] = (0.0, 1.0),
    ticks: tuple[Ticks, Ticks] | None = None,
) -> str:
    """Return an SVG of lines over axes of shares, in percent, or of what `ticks` says.

    `rule` is another line, as an SVG element, or nothing; `note` is below the axes; `span` is the
    range of the vertical axis. With `ticks` points are given as shares of the axes' lengths.
    """
    bottom = _TOP + _SIDE
    height = bottom + 50 + _LINE * (len(series) + 1) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img">',
        f"<title>{title}</title>",
        "<style>text{font:12px sans-serif;fill:#222}.mid{text-anchor:middle}.end{text-anchor:end}"
        ".grid{stroke:#ddd}.rule{stroke:#888;stroke-dasharray:4 4}"
        ".line{fill:none;stroke-width:2}</style>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="{_TOP - 15}" font-weight="bold">{title}</text>',
        *_grid(*(ticks or (_percent((0.0, 1.0)), _percent(span)))),
        f'<text class="mid" x="{_LEFT + _SIDE / 2:g}" y="{bottom + 36}">{axes[0]}</text>',
        f'<text class="mid" transform="translate(20 {_TOP + _SIDE / 2:g}) rotate(-90)">{axes[1]}'
        "</text>",
        rule,
    ]
    for number, one in enumerate(series):
        colour = _COLOURS[number % len(_COLOURS)]
        y = bottom + 58 + _LINE * number
        lines += _line(one, colour, span)
        lines.append(f'<circle cx="{_LEFT}" cy="{y - 4}" r="4" fill="{colour}"/>')
        lines.append(f'<text x="{_LEFT + 12}" y="{y}">{escape(_shorten(one.name))}</text>')
    lines.append(f'<text x="{_LEFT - 4}" y="{height - 12}" fill-opacity=".7">{note}</text>')
    return "\n".join(line for line in [*lines, "</svg>"] if line) + "\n"


def _percent(span: tuple[float, float]) -> Ticks:
    low, high = span
    return [(step / 5, f"{low + (high - low) * step / 5:.0%}") for step in range(6)]


def _grid(across: Ticks, up: Ticks) -> Iterable[str]:
    for share, label in across:
        x, _ = _place(share, 0.0)
        yield f'<path class="grid" d="M{x} {_TOP}V{_TOP + _SIDE}"/>'
        yield f'<text class="mid" x="{x}" y="{_TOP + _SIDE + 18}">{label}</text>'
    for share, label in up:
        _, y = _place(0.0, share)
        yield f'<path class="grid" d="M{_LEFT} {y}H{_LEFT + _SIDE}"/>'
        yield f'<text class="end" x="{_LEFT - 8}" y="{float(y) + 4:g}">{label}</text>'


def _line(series: Series, colour: str, span: tuple[float, float]) -> Iterable[str]:
    low, high = span
    points = [(x, (y - low) / (high - low)) for x, y in series.points]
    path = "L".join("{} {}".format(*_place(*point)) for point in points)
    if path:
        yield f'<path class="line" stroke="{colour}" d="M{path}"/>'
    for x, y, radius in series.dots:
        cx, cy = _place(x, (y - low) / (high - low))
        yield f'<circle cx="{cx}" cy="{cy}" r="{radius:.1f}" fill="{colour}" stroke="#fff"/>'


def _place(x: float, y: float) -> tuple[str, str]:
    """Return the pixels of a point of the unit square, whose origin is below on the left."""
    return f"{_LEFT + _SIDE * x:.1f}", f"{_TOP + _SIDE * (1 - y):.1f}"


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
