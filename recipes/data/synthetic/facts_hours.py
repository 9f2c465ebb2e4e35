"""What can be said about weekly opening hours."""

from itertools import groupby

from typing_extensions import override

from .facts import Dice, Fact, Statement, common
from .numbers import WEEKDAYS, clock, length
from .world import World

Times = tuple[int, int]


class HoursFact(Fact):
    """Times of a day, of runs of days, days closed, days open, lengths and comparisons."""

    manifold = True

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        if not world.hours:
            return None
        makers = [self._day, self._day, self._run, self._run, self._shut, self._lasts]
        makers += [self._later, self._every, self._always]
        return dice.rng.choice(makers)(world, wrong, dice)

    def _open(self, world: World) -> dict[str, Times]:
        return {day: times for day, times in world.hours.items() if times is not None}

    def _other(self, world: World, times: Times, dice: Dice) -> Times:
        """Find other times: those of another day, or one end moved."""
        rng = dice.rng
        others = [other for other in self._open(world).values() if other != times]
        if others and rng.random() < 0.5:
            return rng.choice(others)
        shift = 30 * rng.choice((-4, -3, -2, -1, 1, 2, 3, 4))
        opens, closes = times
        return (opens, closes + shift) if rng.random() < 0.5 else (opens + shift, closes)

    def _day(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """State the hours of one day, or one end of them."""
        rng = dice.rng
        days = self._open(world)
        if not days or (0, 1440) in days.values():
            return None
        form, ends = rng.choice((("both", (0, 1)), ("opens", (0,)), ("closes", (1,))))
        day = rng.choice(WEEKDAYS if wrong else list(days))
        error: str | None = None
        bad = tuple("oc"[end] for end in ends)
        if day not in days:
            times = rng.choice(list(days.values()))
            error = "wrong_days" if day in world.hours else "null_claimed"
            bad = ("day",) if day in world.hours else bad
        elif wrong:
            times, error = self._other(world, days[day], dice), "wrong_time"
            bad = tuple("oc"[end] for end in ends if times[end] != days[day][end])
            if not bad:
                return None
        else:
            times = days[day]
        slots = {"day": day, "o": clock(times[0], rng), "c": clock(times[1], rng)}
        return self.state(form, common(f"hours_{form}"), slots, dice, error, bad)

    def _runs(self, world: World) -> list[tuple[str, str, Times]]:
        """Find the longest runs of at least two days with the same hours."""
        alike = [(times, list(days)) for times, days in groupby(WEEKDAYS, world.hours.get)]
        return [(days[0], days[-1], times) for times, days in alike if times and len(days) > 1]

    def _run(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """State the hours of a run of days."""
        rng = dice.rng
        runs = [run for run in self._runs(world) if run[2] != (0, 1440)]
        if not runs:
            return None
        first, last, times = rng.choice(runs)
        error: str | None = None
        bad: tuple[str, ...] = ()
        if wrong and rng.random() < 0.5:
            here = WEEKDAYS.index(last)
            lasts = [d for d in WEEKDAYS[here + 1 :] if world.hours.get(d) != times]
            if not lasts:
                return None
            last, error, bad = rng.choice(lasts), "wrong_days", ("e",)
        elif wrong:
            other = self._other(world, times, dice)
            bad = tuple(n for n, one, two in zip("oc", other, times, strict=True) if one != two)
            times, error = other, "wrong_time"
        slots = {"s": first, "e": last, "o": clock(times[0], rng), "c": clock(times[1], rng)}
        return self.state("run", common("hours_run"), slots, dice, error, bad)

    def _shut(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """State that a day is closed, open, or not given."""
        off = [day for day in WEEKDAYS if not world.hours.get(day)]
        day = dice.rng.choice(off if off and dice.rng.random() < 0.6 else WEEKDAYS)
        state = "unstated" if day not in world.hours else "open" if world.hours[day] else "shut"
        form, error = state, None
        if wrong:
            form = dice.form(self.name, [f for f in ("open", "shut", "unstated") if f != state])
            error = {"unstated": "null_claimed"}.get(state, "wrong_days")
            error = "denied_known" if form == "unstated" else error
        return self.state(form, common(f"hours_{form}"), {"day": day}, dice, error, ("day",))

    def _lasts(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """State the length of a day."""
        days = self._open(world)
        if not days:
            return None
        day = dice.rng.choice(list(days))
        opens, closes = days[day]
        minutes = closes - opens
        if wrong:
            minutes += 60 * dice.rng.choice((-3, -2, -1, 1, 2, 3))
        if minutes > 1440:
            return None
        slots = {"day": day, "v": length(minutes, dice.rng)}
        error = "wrong_time" if wrong else None
        return self.state("lasts", common("hours_lasts"), slots, dice, error, ("v",))

    def _later(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """Compare two days: which closes later, which opens earlier."""
        days = self._open(world)
        if len(days) < 2:
            return None
        one, other = dice.rng.sample(list(days), 2)
        form, end = dice.rng.choice((("later", 1), ("earlier", 0)))
        gap = days[one][end] - days[other][end]
        if gap == 0:
            return None
        if (gap > 0) != (form == "later"):
            one, other = other, one
        if wrong:
            one, other = other, one
        error = "wrong_comparison" if wrong else None
        slots = {"a": one, "b": other}
        return self.state(form, common(f"hours_{form}"), slots, dice, error)

    def _every(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """State whether every day is open, or how many are."""
        if len(world.hours) < 7:
            return None
        count = len(self._open(world))
        form = "every" if count == 7 else "some"
        if wrong:
            form = dice.form(self.name, ["every", "some"] if count < 7 else ["some"])
        error = None if not wrong else "exaggerated" if form == "every" else "wrong_days"
        told = count
        if form == "some" and wrong:
            told = dice.rng.choice([k for k in (4, 5, 6) if k != count])
        slots = {"k": ("four", "five", "six", "seven")[max(told, 4) - 4]}
        if form == "some" and not 4 <= told <= 6:
            return None
        return self.state(form, common(f"hours_{form}"), slots, dice, error, ("k",))

    def _always(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """State that it never closes."""
        always = len(world.hours) == 7 and set(world.hours.values()) == {(0, 1440)}
        if always == wrong:
            return None
        error = "exaggerated" if wrong else None
        if wrong and dice.rng.random() > dice.lack(f"{self.name}/always"):
            return None
        return self.state("always", common("hours_always"), {}, dice, error)
