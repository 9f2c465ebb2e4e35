from moonlynx.halubench.annotate.agreement import compare_annotators
from moonlynx.halubench.annotate.records import Annotation, LabelledSentence

LETTER = {"P": "PASS", "F": "FAIL", "S": "SUPPORTED", "U": "UNSUPPORTED", "N": "NO_INFO"}


def annotations(annotator, labels, file="", sentences=None, holds=""):
    """Yield one annotator's annotations, a letter a row; "." is a row that was passed over."""
    for number, letter in enumerate(labels):
        if letter == ".":
            continue
        yield Annotation(
            id=str(number),
            source="DROP" if number < 5 else "covidQA",
            row_label=LETTER[file[number]] if file else None,
            annotator=annotator,
            label=LETTER[letter],
            sentences=tuple(
                LabelledSentence(start=10 * place, end=10 * place + 9, label=LETTER[one])
                for place, one in enumerate(sentences[number] if sentences else "")
            ),
            perturbation_holds=holds[number] == "y" if holds else None,
        )


def lines(report, title):
    """Return the cells of a table, by its first two."""
    (part,) = [part for part in report.split("\n## ") if part.startswith(title + "\n")]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.split("\n")[4:]]
    return {(line[0], line[1]): line[2:] for line in cells if line}


def value(cell):
    return float(cell.split(" ")[0])


def test_two_annotators_by_hand():
    said = [*annotations("Anna", "PPPFFPPFFF"), *annotations("Ben", "PPFFFPPPFF")]
    found = lines(compare_annotators(said), "Row label")
    assert set(found) == {
        (between, source)
        for between in ("all", "Anna and Ben")
        for source in ("all", "DROP", "covidQA")
    }
    rows, items, share, beyond = found["Anna and Ben", "all"]
    assert (rows, items, value(share), value(beyond)) == ("10", "10", 0.80, 0.60)
    # DROP: PP, PP, PF, FF, FF: 0.8 against 0.6 x 0.4 + 0.4 x 0.6 = 0.48 by chance.
    assert value(found["Anna and Ben", "DROP"][3]) == 0.62
    assert share.endswith("]")


def test_three_annotators_are_compared_on_what_they_share():
    said = [
        *annotations("Anna", "PPFFPF"),
        *annotations("Ben", "PPFFP."),
        *annotations("Cleo", ".PFFPP"),
    ]
    found = lines(compare_annotators(said), "Row label")
    assert found["all", "all"][0] == "4"
    assert found["Anna and Ben", "all"][0] == "5"
    assert found["Anna and Cleo", "all"][0] == "5"
    assert value(found["Anna and Cleo", "all"][2]) == 0.8
    assert found["all", "all"][2:] == ["1.00 [0.40, 1.00]", "1.00"]  # 0.025 ** (1 / 4) = 0.398


def test_annotators_are_compared_with_the_file_and_not_without_a_row_in_common():
    said = annotations("Anna", "PPFFPFPPFF", file="PPFFPPFPFF")
    found = lines(compare_annotators(list(said)), "Row label")
    assert set(found) == {("Anna and the file", name) for name in ("all", "DROP", "covidQA")}
    assert found["Anna and the file", "all"][2].startswith("0.80 [")
    assert found["Anna and the file", "DROP"][2] == "1.00 [0.48, 1.00]"
    said = [*annotations("Anna", "PP.."), *annotations("Ben", "..FF")]
    report = compare_annotators(said)
    assert "| Anna | 2 |" in report
    assert "Row label" not in report


def test_sentences_count_one_by_one_in_their_rows():
    said = [
        *annotations("Anna", "PF", sentences=["SSN", "UU"]),
        *annotations("Ben", "PF", sentences=["SSS", "UU"]),
    ]
    rows, items, share, beyond = lines(compare_annotators(said), "Sentences")["Anna and Ben", "all"]
    assert (rows, items, value(share)) == ("2", "5", 0.8)
    # By chance 2/5 x 3/5 + 2/5 x 2/5 + 1/5 x 0 = 0.4.
    assert value(beyond) == 0.67


def test_a_check_is_compared_and_its_share_given():
    said = [
        *annotations("Anna", "FFFFFFFF", holds="yyyyyyyn"),
        *annotations("Ben", "FFFFFFFF", holds="yyyyynyn"),
    ]
    report = compare_annotators(said)
    assert value(lines(report, "The perturbation holds")["Anna and Ben", "all"][2]) == 0.88
    shares = lines(report, "The perturbation holds: share of yes")
    assert value(shares["Anna", "all"][1]) == 0.88
    assert shares["Ben", "covidQA"][0] == "3"
    assert value(shares["Ben", "covidQA"][1]) == 0.33
    assert "The reasoning is right" not in report
    row_labels = lines(report, "Row label")
    assert row_labels["Anna and Ben", "all"][2:] == ["1.00 [0.63, 1.00]", "–"]
