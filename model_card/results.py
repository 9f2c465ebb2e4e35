"""Reports on the weights: tables, what they cannot do, results for the model index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from json import JSONDecodeError, loads
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from moonlynx.eval.markdown import table
from moonlynx.eval.provenance import JudgeRun
from moonlynx.eval.records import ALWAYS_FAIL, MAJORITY, Group, MacroScores, Report, SystemScores
from moonlynx.eval.report_pages import TITLES, write_value
from moonlynx.judge.contract.spec import JudgeSpec, parse_spec
from moonlynx.judge.contract.types import JudgeInfo, MoonlynxError, first_fault

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

REPORT_FILE = "report.json"
_DECIDED = ("balanced_accuracy", "f1", "auroc")
_PLAIN = ("ece", "brier")  # not written in percent
_INDEXED = {"balanced_accuracy": "balanced_accuracy", "f1": "f1", "auroc": "roc_auc"}
_CHANCE = 0.5  # of AUROC and balanced accuracy
_HALUBENCH = ("ragtruth_train_part", "covid_qa", "pubmedqa", "halueval")
# Training sets with other rows of a benchmark's sources.
_SAME_SOURCE = {
    "ragtruth": ("ragtruth_train_part",),
    "wandb/RAGTruth-processed": ("ragtruth_train_part",),
    "summedits": ("summedits",),
    "Salesforce/summedits": ("summedits",),
    "halubench": _HALUBENCH,
    "PatronusAI/HaluBench": _HALUBENCH,
}


class CardError(MoonlynxError, ValueError):
    """What a card is to be rendered from is missing or does not belong together."""


class Measured(NamedTuple):
    """A report, and the name that the weights have in it."""

    report: Report
    system: str

    @property
    def title(self) -> str:
        """Return the benchmark and its split."""
        return f"{self.report.benchmark.name} ({self.report.benchmark.split})"


def read_report(folder: Path) -> Report:
    """Read the `report.json` of a folder that `moonlynx eval` wrote.

    Raises:
        CardError: there is none, or this version cannot read it; says why.
    """
    path = folder / REPORT_FILE
    try:
        content = loads(path.read_text(encoding="utf-8"))
        found = content.get("schema_version")
        if found != (known := Report.model_fields["schema_version"].default):
            raise CardError(
                f"{path} is a report of version {found!r}, and {known!r} can be read; "
                f"run its command anew: {content.get('command')}"
            )
        return Report.model_validate(content)
    except OSError as error:
        raise CardError(
            f"cannot read {path}: {error.strerror}; name a folder that `moonlynx eval` wrote"
        ) from None
    except (JSONDecodeError, UnicodeDecodeError, AttributeError):
        raise CardError(f"{path} is not a report; write it with `moonlynx eval`") from None
    except ValidationError as error:
        field, message = first_fault(error, "file")
        raise CardError(f"{path}: {field}: {message}; run `moonlynx eval` anew") from None


def find_system(report: Report, judge: JudgeInfo) -> Measured:
    """Find the weights in a report: judged as they are, with no option that changes them.

    Raises:
        CardError: they were not; names the judges that were.
    """
    wanted = f"{judge.name} {judge.version} without options"
    return find_run(report, wanted, lambda run, spec: run.judge == judge and not spec.options)


def find_run(
    report: Report, wanted: str, matches: Callable[[JudgeRun, JudgeSpec], bool]
) -> Measured:
    """Find the judge that matches in a report.

    Raises:
        CardError: there is none; names what was wanted and the judges there are.
    """
    for run in report.judges:
        spec = parse_spec(run.spec)
        if isinstance(spec, JudgeSpec) and matches(run, spec):
            return Measured(report, run.spec)
    judged = ", ".join(
        f"{run.spec} ({run.judge.name} {run.judge.version})" for run in report.judges
    )
    raise CardError(
        f"the report on {report.benchmark.name} is of {judged}; none of these is {wanted}: run "
        "`moonlynx eval` with these weights"
    )


def results_table(measured: Measured) -> str:
    """Write the weights' scores on each part of a benchmark, above those of the constants."""
    report = measured.report
    names = [*_DECIDED, *(("span_f1",) if report.micro.span_rows else ())]
    rows: list[list[str]] = []
    for group in (report.micro, *report.subsets):
        about = [group.name, f"{group.rows:,}", f"{group.fail_rows:,}"]
        rows += _rows(about, group.systems, names, measured.system, group.majority)
    if report.macro:
        about = [f"mean of the {len(report.subsets)} parts", "", ""]
        rows += _rows(about, report.macro, names, measured.system, "of each part")
    return table(["part", "rows", "FAIL", "", *(TITLES[name] for name in names)], rows, (0, 3))


def probability_table(measured: Sequence[Measured]) -> str:
    """Write how true the probabilities were; nothing where there are none."""
    rows = []
    for each in measured:
        scores = _own(each.report.micro, each.system)
        if scores.with_probability:
            cells = [write_value(name, scores.metrics[name]) for name in _PLAIN]
            rows.append([each.title, f"{scores.with_probability:,}", *cells])
    return table(["benchmark", "rows", *(TITLES[name] for name in _PLAIN)], rows) if rows else ""


def notes(measured: Measured, trained_on: Sequence[str]) -> list[str]:
    """Return what a reader of the scores has to know, a sentence each."""
    report, facts = measured.report, measured.report.benchmark
    found = [*facts.caveats]
    found += [f"Left out: {count:,} {reason}." for reason, count in facts.left_out.items()]
    if not facts.test_only:
        found.append("Not a test set: training, or the fit of the threshold, may have seen rows.")
    if facts.sampled_from:
        found.append(f"A random sample of the split's {facts.sampled_from:,} rows.")
    if unscored := _own(report.micro, measured.system).unscored:
        found.append(f"{unscored:,} rows could not be scored; they count as wrong.")
    found += [
        f"F1 over {bound.group} is {100 * bound.all_wrong:.1f} if the {bound.missing:,} missing "
        f"PASS rows were all judged wrong, and {100 * bound.all_right:.1f} if right."
        for bound in report.bounds
        if bound.system == measured.system
    ]
    shared = [name for name in _SAME_SOURCE.get(facts.name, ()) if name in trained_on]
    if shared:
        found.append(
            f"Other rows of the same sources were trained on ({', '.join(shared)}): these are no "
            "unseen sources."
        )
    return found


def at_chance(measured: Sequence[Measured], metric: str) -> list[str]:
    """Return the parts on which a metric's interval reaches .5, with value, interval and rows."""
    found = []
    for each in measured:
        for name, group in _parts(each.report):
            value = _own(group, each.system).metrics[metric]
            if value.value is not None and (value.low is None or value.low <= _CHANCE):
                score = f"{TITLES[metric]} {write_value(metric, value)}, {group.rows:,} rows"
                found.append(f"{each.title}, {name} ({score})")
    return found


def eval_results(measured: Sequence[Measured]) -> list[EvalResult]:
    """Return the scores as the Hub's model index holds them: shares, not percent."""
    from huggingface_hub import EvalResult

    return [
        EvalResult(
            task_type="text-classification",
            task_name="hallucination detection",
            dataset_type=each.report.benchmark.name,
            dataset_name=f"{each.report.benchmark.name}, {group.name}",
            dataset_config=group.name,
            dataset_split=each.report.benchmark.split,
            metric_type=kind,
            metric_name=f"{TITLES[metric]} (FAIL is the positive class)",
            metric_value=round(value, 4),
        )
        for each in measured
        for group in (each.report.micro, *each.report.subsets)
        for metric, kind in _INDEXED.items()
        if (value := _own(group, each.system).metrics[metric].value) is not None
    ]


def _rows(
    about: Sequence[str],
    systems: Sequence[SystemScores | MacroScores],
    names: Sequence[str],
    own: str,
    majority: str,
) -> Iterator[list[str]]:
    labels = {own: "**these weights**", MAJORITY: f"{MAJORITY} ({majority})"}
    for each in systems:
        if each.system in (own, MAJORITY, ALWAYS_FAIL):
            cells = [write_value(name, each.metrics[name]) for name in names]
            yield [*about, labels.get(each.system, each.system), *cells]
            about = [""] * len(about)


def _parts(report: Report) -> Iterator[tuple[str, Group]]:
    """Yield all rows, the subsets, and slices by length that are neither empty nor all rows."""
    yield from ((group.name, group) for group in (report.micro, *report.subsets))
    for what, groups in (("context", report.context_length), ("answer", report.answer_length)):
        yield from (
            (f"{what} {group.name}", group)
            for group in groups
            if 0 < group.rows < report.micro.rows
        )


def _own(group: Group, system: str) -> SystemScores:
    return next(each for each in group.systems if each.system == system)
