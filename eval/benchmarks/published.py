"""Numbers that papers report for a benchmark, to compare with measured ones."""

from functools import cache
from importlib.resources import files
from typing import Annotated, Self

from pydantic import Field, TypeAdapter, model_validator

from moonlynx.judge.contract.types import Record, wrong

Percent = Annotated[float, Field(ge=0, le=100)]


class Published(Record):
    """One table of a paper."""

    benchmark: str  # the benchmark's name
    metric: str  # what the numbers are, by its name in reports
    source: str  # paper and table
    note: str  # what keeps them from being compared as they stand
    subsets: tuple[str, ...]  # columns, by the benchmark's own names
    # by name the values in percent, one for each subset, then one over all
    systems: dict[str, tuple[Percent, ...]]

    @model_validator(mode="after")
    def _square(self) -> Self:
        for name, values in self.systems.items():
            if len(values) != len(self.subsets) + 1:
                raise wrong(f"{name}: a value is missing")
        return self


@cache
def _tables() -> tuple[Published, ...]:
    text = files(__package__).joinpath("published.json").read_bytes()
    return TypeAdapter(tuple[Published, ...]).validate_json(text)


def published(benchmark: str) -> tuple[Published, ...]:
    """Return the tables for a benchmark; one from the Hub goes by the last part of its name."""
    name = benchmark.rpartition("/")[2].lower()
    return tuple(table for table in _tables() if table.benchmark == name)
