"""From a judge's name to the judge: the built-in ones, and those of other packages by entry point.

Another package registers a judge under the entry point group `moonlynx.judges`, as a `Factory`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from .backends.chat import load_chat_model, parse_chat_model
from .backends.hub import find_commit, is_on_hub
from .backends.options import Reader, finite, one_of, preset, read_options, read_own, share
from .builders import BUILT_IN, LYNX_MODEL, Factory
from .contract.base import Judge
from .contract.spec import LOCAL_BACKENDS, JudgeSpec, Spec, SpecError, parse_spec
from .contract.types import MoonlynxError
from .rows.fields import ALL_DOCUMENTS, AS_NAMED, FieldMap

__all__ = ["LYNX_MODEL", "Factory", "all_factories", "fields_for", "find_factory", "load_judge"]

GROUP = "moonlynx.judges"
DEFAULT_JUDGE = "luna"
CASCADE = "Judges asked one after the other, cheapest first, until one is sure"

_SHARED: Mapping[str, Reader] = {
    "index": Path,
    "languages": one_of("warn", "strict"),
    "rules": one_of("on", "off"),
}
# Options that every judge takes, or every cascade.
_OF_JUDGES: Mapping[str, Reader] = {
    "calibration": Path,
    "threshold": finite,
    "abstain": finite,
    "confidence": finite,
    "revision": str,
    "citations": one_of("required"),
    "translate": parse_chat_model,
    "common-knowledge": parse_chat_model,
    **_SHARED,
}
_OF_CASCADES: Mapping[str, Reader] = {
    "policy": Path,
    "on-failure": one_of("unscored", "keep"),
    **_SHARED,
}


class UnknownJudge(MoonlynxError, ValueError):
    """No judge of that name."""


def load_judge(spec: str | Spec) -> Judge:
    """Load the judge of that name; the grammar is in `moonlynx.judge.contract.spec`.

    Every judge takes `calibration=FILE` or `threshold=X` (in [0, 1] where its raw scores are; those
    of `lynx` and `luna2` are log-odds), `preset=guard` (or balanced, audit) where it is calibrated,
    `abstain=RISK` with `confidence=P` (0.95), `rules=on`, `languages=strict`, `index=DIR`, and
    `translate=MODEL@BACKEND` where it does not read every language; one that checks citations takes
    `citations=required` and `common-knowledge=MODEL@BACKEND`; one whose model is on the Hub
    `revision=REVISION`, a branch, a tag or a commit. A cascade takes `policy=FILE`,
    `on-failure=unscored` (or keep), `rules=on`, `index=DIR`, and `languages=strict` for each of its
    judges.

    Raises:
        SpecError: the name does not follow the grammar, or an option has a wrong value.
        CalibrationError: the calibration is not one for this judge, or cannot do what was asked.
        BrokenIndex: the index cannot be read.
        PolicyError: the policy is not one for these judges.
        UnknownJudge: nothing of that name is built in or installed.
        MissingExtra: an optional package is missing; says how to install it.
        BackendError: the judge's model cannot be loaded.
    """
    # Some of these import numpy, which the command line starts without.
    from .decision.abstention import Abstaining
    from .decision.calibration import apply_calibration, load_calibration
    from .decision.cascade import Cascade
    from .decision.conformal import CONFIDENCE
    from .decision.policy import load_policy
    from .judges.rules import RuleTier
    from .judges.screen import Screened

    if isinstance(spec, str):
        spec = parse_spec(spec)
    judge: Judge
    if isinstance(spec, JudgeSpec):
        factory = find_factory(spec.name)
        readers = dict(_OF_JUDGES)
        if factory.bounded:
            readers["threshold"] = share
        if "calibration" in spec.options:  # else the judge reads it: it may have one of its own
            readers["preset"] = preset
        elif "preset" in spec.options and not factory.by_length:
            raise SpecError(
                f"preset= needs a calibration: give {spec.name}?calibration=FILE as well"
            )
        with read_own(spec.name, spec.options, readers) as (options, own):
            _check_options(options)
            file = options.get("calibration")
            calibration = load_calibration(file) if file else None
            threshold = options.get("threshold")
            if calibration is not None:
                threshold = calibration.threshold_of(options.get("preset"))
            model = _revised(spec, factory, options.get("revision"))
            judge = factory.build(replace(spec, model=model, options=own), threshold)
        if calibration is not None:
            judge = apply_calibration(judge, calibration, options.get("preset"))
        judge = _helped(judge, spec.name, options)
        served = spec.backend not in (None, *LOCAL_BACKENDS)
        commit = None if model is None or served else find_commit(model)
        judge = Screened(judge, strict=options.get("languages") == "strict", commit=commit)
        if "abstain" in options:
            judge = Abstaining(judge, options["abstain"], options.get("confidence", CONFIDENCE))
    else:
        options = read_options("cascade", spec.options, _OF_CASCADES)
        shared = {name: text for name, text in spec.options.items() if name == "languages"}
        stages = [
            load_judge(replace(stage, options=shared | stage.options)) for stage in spec.stages
        ]
        policy = load_policy(options["policy"]) if "policy" in options else None
        judge = Cascade(stages, policy, options.get("on-failure", "unscored"))
    judge = RuleTier(judge) if options.get("rules") == "on" else judge
    if "index" not in options:
        return judge
    from .index.store import load_index
    from .judges.indexed import Indexed

    return Indexed(judge, load_index(options["index"]))


def fields_for(spec: Spec, fields: FieldMap = AS_NAMED) -> FieldMap:
    """Return how rows are read for a judge: with an index, a row may lack its context."""
    return replace(fields, absent={"context": ALL_DOCUMENTS}) if "index" in spec.options else fields


def _helped(judge: Judge, name: str, options: Mapping[str, Any]) -> Judge:
    """Let chat models translate before the judge, and say after it what is common knowledge.

    Citations and refusals are checked with a judge that reads claims beside documents.
    """
    from .judges.checks import Checked
    from .judges.common_knowledge import LettingPass
    from .judges.translated import Translated

    checks = getattr(judge, "checks", False)
    for option, lacks in (
        ("common-knowledge", "say what is not mentioned"),
        ("citations", "check citations"),
    ):
        if option in options and not checks:
            raise SpecError(f"{name} does not {lacks}; use luna, nli or a similarity")
    if "translate" in options:
        judge = Translated(judge, load_chat_model(options["translate"]))
    if "common-knowledge" in options:
        judge = LettingPass(judge, load_chat_model(options["common-knowledge"]))
    return Checked(judge, required="citations" in options) if checks else judge


def _revised(spec: JudgeSpec, factory: Factory, revision: str | None) -> str | None:
    """Return the model that is to be loaded in this process, with its revision on the Hub."""
    model = spec.model
    if model is None and spec.backend in (None, "transformers", "vllm"):
        model = factory.model
    if revision is None:
        return model
    if model is None or spec.backend not in (None, *LOCAL_BACKENDS) or not is_on_hub(model):
        raise SpecError(
            f"revision= needs a model of the Hub, as in {spec.name}:ORG/NAME?revision=v1"
        )
    return f"{model}@{revision}"


def _check_options(options: Mapping[str, object]) -> None:
    if "threshold" in options and "calibration" in options:
        raise SpecError("give calibration= or threshold=, not both: a calibration sets both")
    if "threshold" in options and "abstain" in options:
        raise SpecError("give abstain= or threshold=, not both: abstain= needs the calibration's")
    if "confidence" in options and "abstain" not in options:
        raise SpecError("confidence= goes with abstain=")


def find_factory(name: str) -> Factory:
    """Find a judge's factory by name.

    Raises:
        UnknownJudge: names the nearest ones.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    factories = dict(all_factories())
    if name not in factories:
        near = get_close_matches(name, factories, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(factories)}"
        raise UnknownJudge(f"no judge is called {name!r}; {hint}")
    return factories[name]


def all_factories() -> Iterator[tuple[str, Factory]]:
    """Yield name and factory of every judge, the built-in ones first."""
    yield from BUILT_IN.items()
    for point in entry_points(group=GROUP):
        if point.name not in BUILT_IN:
            factory: Factory = point.load()
            yield point.name, factory
