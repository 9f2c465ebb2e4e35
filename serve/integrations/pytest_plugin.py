"""A pytest plugin: `assert_grounded(answer, context, question="")` fails on what has no support.

Installed with moonlynx, like any plugin: a test only names the fixture. pytest imports this file at
every start, so a judge is first touched by the first test that asks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from moonlynx import Example, Judge, MoonlynxError, Unscored, load_judge
from moonlynx.judge.contract.base import with_documents
from moonlynx.judge.contract.spec import JudgeSpec, Spec, parse_spec
from moonlynx.judge.registry import DEFAULT_JUDGE, find_factory

AssertGrounded = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the judge."""
    parser.getgroup("moonlynx").addoption(
        "--grounded-judge",
        metavar="NAME",
        default=DEFAULT_JUDGE,
        help="judge behind assert_grounded, as `moonlynx judge --judge` takes it (default: luna)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Look up the judge's name, without loading the judge."""
    name = config.getoption("--grounded-judge")
    try:
        if name != DEFAULT_JUDGE:
            _look_up(parse_spec(name))
    except MoonlynxError as error:
        raise pytest.UsageError(f"--grounded-judge={name}: {error}") from None


def _look_up(spec: Spec) -> None:
    if isinstance(spec, JudgeSpec):
        find_factory(spec.name)
    else:
        for stage in spec.stages:
            _look_up(stage)


@pytest.fixture(scope="session")
def grounded_judge(request: pytest.FixtureRequest) -> Judge:
    """The judge behind `assert_grounded`, loaded once per session.

    A fixture of this name in a conftest.py replaces it.
    """
    name = request.config.getoption("--grounded-judge")
    try:
        return load_judge(name)
    except MoonlynxError as error:
        message = f"--grounded-judge={name}: {error}"
    if hasattr(request.config, "workerinput"):  # pytest-xdist takes an exit for a crash
        pytest.fail(message, pytrace=False)
    pytest.exit(message, pytest.ExitCode.USAGE_ERROR)


@pytest.fixture(scope="session")
def assert_grounded(grounded_judge: Judge) -> AssertGrounded:
    """`assert_grounded(answer, context, question="")`: the context must support each claim."""
    from .explain import explain

    def check(answer: str, context: str | Sequence[str], question: str = "") -> None:
        """Judge an answer.

        Raises:
            AssertionError: it FAILs; shows the sentences and what of them is unsupported.
            Unscored: the judge could not tell, which is no pass.
            BadInput: answer or context hold no text.
        """
        __tracebackhide__ = True
        row = {"question": question, "context": context, "answer": answer}
        example = Example.from_row(row)
        (verdict,) = grounded_judge([example])
        if verdict.score is None:
            raise Unscored(verdict)
        if verdict.score == "FAIL":
            raise AssertionError(explain(with_documents(grounded_judge, example), verdict))

    return check
