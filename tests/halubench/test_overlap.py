from moonlynx.halubench.overlap import RUN, Leaks, NearDuplicates, runs
from moonlynx.halubench.records import Provenance, QARow
from moonlynx.judge.contract.types import Example

from .made_data import answer, question, text


def row(n, *, context=None, asked=None, said=None):
    return QARow(
        id=f"DROP/{n}",
        source="DROP",
        question=asked or question(n),
        context=context or text(n),
        answer=said or answer(n),
        group=str(n),
        provenance=Provenance(file="f", sha256="0" * 64, row=str(n), licence="MIT"),
    )


def test_a_row_that_shares_a_run_of_thirteen_words_with_a_test_row_leaks():
    words = [f"w{n}" for n in range(RUN + 1)]
    assert len(runs([" ".join(words)])) == 2
    assert runs([" ".join(words)]) == runs([", ".join(words).upper() + "!"])
    assert runs([" ".join(words[: RUN - 1])]) == set()
    leaks = Leaks([Example(context=text(1), question=question(50), answer=answer(1))])
    assert leaks.hold(row(1))
    assert leaks.hold(row(2, context=f"New. {text(1)[40:200]} New."))
    assert leaks.hold(row(3, said=text(1)))
    assert not leaks.hold(row(4))
    assert not leaks.hold(row(5, said=answer(1)))  # too short to be more than chance
    assert leaks.hold(row(1))


def test_almost_the_same_row_is_seen_and_another_is_another():
    seen = NearDuplicates()
    assert seen.add(row(1))
    assert not seen.add(row(1))
    assert not seen.add(row(1, asked=question(1).upper() + " ?"))
    assert not seen.add(row(1, context=text(1) + " And no more is known of it."))
    seen = NearDuplicates()
    assert seen.add(row(1))
    assert seen.add(row(1, asked="Who planned it?", said="Brecht"))
    assert seen.add(row(2, asked=question(1), said=answer(1)))
