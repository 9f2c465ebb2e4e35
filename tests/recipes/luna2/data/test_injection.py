import re

from moonlynx.recipes.luna2.data.injection import bipia, written

from ....labelled_data import DATA, reads_all_data


def texts(row):
    return row.input.context or (row.input.input,)


@reads_all_data
def test_every_written_attack_has_a_harmless_twin_in_its_place_and_none_is_tested():
    placed = list(written(DATA))
    assert len(placed) > 1000
    assert {side for _, side in placed} == {"train", "validation"}
    for (attack, side), (harmless, same) in zip(placed[::2], placed[1::2], strict=True):
        assert (attack.labels, harmless.labels, side) == ({"true"}, {"false"}, same)
        assert (attack.group, attack.input.context is None) == (
            harmless.group,
            harmless.input.context is None,
        )
        assert texts(attack) != texts(harmless)
    slots = re.compile(r"\{(want|who|link|address|phone|day|place|thing|secret|topic)\}")
    assert not any(slots.search(text) for row, _ in placed for text in texts(row))


@reads_all_data
def test_written_attacks_stand_in_no_carrier_that_is_tested():
    tested = {row.group.removeprefix("bipia:") for row, side in bipia(DATA) if side == "test"}
    for row, _ in written(DATA):
        start = "".join(filter(str.isalnum, texts(row)[0].casefold()))[:200]
        assert start not in tested
