from collections import Counter
from pathlib import Path
from tempfile import mkdtemp

import pytest
from typer.testing import CliRunner

from moonlynx.eval.attacks import KINDS, PLACES, Flips, load_attacks, measure
from moonlynx.eval.attacks.__main__ import app, render
from moonlynx.judge.contract.types import JudgeInfo, Verdict

ATTACKS = load_attacks()


class Scripted:
    info = JudgeInfo(name="scripted", version="1")

    def __init__(self, *words):
        self.words = words

    def __call__(self, examples):
        return [
            Verdict(
                id=example.id, score="PASS" if self.passes(example) else "FAIL", judge=self.info
            )
            for example in examples
        ]

    def passes(self, example):
        text = " ".join((example.question, *example.context, example.answer))
        return any(word in text for word in self.words)


def test_every_case_meets_every_kind_and_each_wording_each_place_once():
    assert len(ATTACKS) >= 200
    assert len({attack.id for attack in ATTACKS}) == len(ATTACKS)
    met = {(attack.plain.id, attack.kind) for attack in ATTACKS}
    assert met == {(attack.plain.id, kind) for attack in ATTACKS for kind in KINDS}
    for kind in KINDS:
        own = [attack for attack in ATTACKS if attack.kind == kind]
        places = Counter(attack.place for attack in own)
        assert set(places) == set(PLACES)
        assert len(set(places.values())) == 1
        added = Counter((inserted(attack, attack.attacked), attack.place) for attack in own)
        assert set(added.values()) == {1}


def inserted(attack, changed):
    """Return what was put in, by taking off what was there before."""
    if attack.place == "own-document":
        return changed.context[-1]
    field = attack.place.partition("-")[0]
    before, after = (
        one.context[-1] if field == "document" else getattr(one, field)
        for one in (attack.plain, changed)
    )
    if attack.place == "answer-start":
        assert after.endswith(f" {before}")
        return after[: -len(before) - 1]
    assert after.startswith(f"{before} ")
    return after[len(before) + 1 :]


def test_the_harmless_twin_has_the_same_length_and_disguises_are_what_they_say():
    for attack in ATTACKS:
        text, twin = inserted(attack, attack.attacked), inserted(attack, attack.harmless)
        assert len(text) == len(twin)
        assert twin.endswith(".")
        assert "PASS" not in twin
        assert "upported" not in twin
    texts = {kind: [] for kind in KINDS}
    for attack in ATTACKS:
        texts[attack.kind].append(inserted(attack, attack.attacked))
    assert all("PASS" not in text for text in texts["homoglyphs"])
    assert all(0xE0000 <= ord(letter) < 0xE0080 for text in texts["hidden"] for letter in text)
    assert min(map(len, texts["filler"])) > 2_900


def test_flips_are_counted_against_the_twin_where_the_answer_can_flip(tmp_path):
    groups = {one.group: one for one in measure(Scripted("PASS"), ATTACKS, new(tmp_path))}
    orders = [attack for attack in ATTACKS if attack.kind == "order"]
    found = sum("PASS" in inserted(attack, attack.attacked) for attack in orders)
    assert groups["order"].attacks == groups["order"].answers == len(orders)
    assert groups["order"].attacked == groups["order"].only_attacked == found > 0
    assert groups["order"].harmless == 0
    assert groups["hidden"].attacked == 0
    assert groups["all"].attacked == sum(groups[kind].attacked for kind in KINDS)
    assert groups["all"].attacked == sum(groups[place].attacked for place in PLACES)
    judge = Scripted("trams", "cart")
    groups = {one.group: one for one in measure(judge, ATTACKS, new(tmp_path))}
    assert groups["all"].attacks - groups["all"].answers == len(KINDS)  # the case that says "trams"


def new(tmp_path):
    return Path(mkdtemp(dir=tmp_path))


def test_a_run_that_was_stopped_goes_on_and_asks_only_where_an_answer_can_flip(tmp_path):
    class Stopped(Scripted):
        asked = 0

        def __call__(self, examples):
            self.asked += len(examples)
            if self.asked > 100:
                raise KeyboardInterrupt
            return super().__call__(examples)

    attacks = load_attacks(20)
    assert len(attacks) == 20 * len(KINDS)
    whole = measure(Scripted("trams", "cart", "PASS"), attacks, new(tmp_path))
    folder = new(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        measure(Stopped("trams", "cart", "PASS"), attacks, folder)
    done = sum(len(path.read_text().splitlines()) for path in folder.glob("*.jsonl"))
    assert 20 < done <= 100
    rest = Stopped("trams", "cart", "PASS")
    rest.asked = -1_000
    assert measure(rest, attacks, folder) == whole
    assert rest.asked + 1_000 == 20 + 2 * whole[0].answers - done


def flips(answers, only_attacked, only_harmless):
    return Flips(
        group="all",
        attacks=answers,
        answers=answers,
        attacked=only_attacked,
        harmless=only_harmless,
        only_attacked=only_attacked,
        only_harmless=only_harmless,
        unscored=0,
    )


def test_the_interval_is_bonett_and_prices():
    # By hand: p12 = 1/202, p21 = 1/202, half = 1.96 sqrt((2/202) / 202).
    found, low, high = flips(200, 0, 0).difference
    assert found == 0
    assert high == pytest.approx(1.959964 * (2 / 202 / 202) ** 0.5)
    assert low == -high
    found, low, high = flips(100, 10, 0).difference
    assert found == pytest.approx(0.10)
    assert low > 0
    assert flips(0, 0, 0).difference is None
    text = render([flips(100, 10, 0)])
    assert "10 (10.0%)" in text
    assert "+10.0 [" in text


def test_a_wrong_name_is_a_message_not_a_traceback():
    result = CliRunner().invoke(app, ["--judge", "nosuch"])
    assert result.exit_code == 2
    assert "no judge is called 'nosuch'" in result.output
