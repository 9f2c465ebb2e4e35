"""Quality against cost as SVG: a numbered dot a system, its interval, and a legend."""

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple

from ..intervals import Value

_LEFT, _TOP, _WIDTH, _HEIGHT, _LINE = 46, 14, 480, 240, 18  # pixels; the first four: the axes' box


class Dot(NamedTuple):
    """A system; `kind` sets its colour by the page's style sheet."""

    name: str
    kind: str
    cost: float
    quality: Value


class _Scale(NamedTuple):
    """Powers of ten at the ends of the axis of costs."""

    low: int
    high: int

    def x(self, cost: float) -> float:
        return _LEFT + _WIDTH * (log10(cost) - self.low) / (self.high - self.low)


def draw_dots(dots: Sequence[Dot], cost: str, quality: str) -> str:
    """Return the SVG: cost on a logarithmic axis, quality in percent; empty below two dots."""
    dots = [dot for dot in dots if dot.cost > 0 and dot.quality.value is not None]
    if len(dots) < 2:
        return ""
    costs = [log10(dot.cost) for dot in dots]
    low = floor(min(costs))
    scale = _Scale(low, max(ceil(max(costs)), low + 1))
    bottom = _TOP + _HEIGHT
    size = f"{_LEFT + _WIDTH + 20} {bottom + 56 + _LINE * len(dots)}"
    parts = [
        f'<svg viewBox="0 0 {size}" role="img" class="plot">',
        f"<title>{escape(quality)}, percent, against {escape(cost)}</title>",
        *_grid(scale),
        f'<text x="{_LEFT}" y="{bottom + 36}">{escape(quality)} against {escape(cost)}</text>',
    ]
    for number, dot in enumerate(dots, start=1):
        parts += _dot(number, dot, scale)
        y = bottom + 40 + _LINE * number
        parts.append(f'<circle class="{dot.kind}" cx="{_LEFT + 4}" cy="{y - 4}" r="4"/>')
        parts.append(f'<text x="{_LEFT + 14}" y="{y}">{number}: {escape(dot.name)}</text>')
    return "".join([*parts, "</svg>"])


def _y(share: float) -> float:
    return _TOP + _HEIGHT * (1 - share)


def _grid(scale: _Scale) -> Iterator[str]:
    right, bottom = _LEFT + _WIDTH, _TOP + _HEIGHT
    for percent in range(0, 101, 20):
        y = _y(percent / 100)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{percent}</text>'
    for power in range(scale.low, scale.high + 1):
        x = scale.x(10.0**power)
        yield f'<path class="grid" d="M{x:.1f} {_TOP}V{bottom}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{10.0**power:,.10g}</text>'


def _dot(number: int, dot: Dot, scale: _Scale) -> Iterator[str]:
    quality, x = dot.quality, scale.x(dot.cost)
    if quality.low is not None and quality.high is not None:
        yield f'<path class="bar" d="M{x:.1f} {_y(quality.low):.1f}V{_y(quality.high):.1f}"/>'
    y = _y(quality.value or 0.0)
    yield f'<circle class="{dot.kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
    yield f'<text x="{x + 7:.1f}" y="{y - 5:.1f}">{number}</text>'
