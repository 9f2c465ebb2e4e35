import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.serve.page.markup import cut, escape


def joined(text, ranges):
    return [(piece.text, piece.ranges) for piece in cut(text, ranges)]


def test_nothing_of_a_text_is_markup_or_template():
    text = """<b onclick="x('y')">&amp; ${alert(1)} {{value}} `z`"""
    assert escape(text) == (
        "&lt;b onclick=&quot;x(&#x27;y&#x27;)&quot;&gt;&amp;amp; "
        "&#36;&#123;alert(1)&#125; &#123;&#123;value&#125;&#125; &#96;z&#96;"
    )


@pytest.mark.parametrize(
    ("ranges", "pieces"),
    [
        ([], [("abcdef", ())]),
        ([(0, 6)], [("abcdef", (0,))]),
        ([(1, 3)], [("a", ()), ("bc", (0,)), ("def", ())]),
        ([(1, 4), (2, 6)], [("a", ()), ("b", (0,)), ("cd", (0, 1)), ("ef", (1,))]),
        ([(0, 6), (2, 3), (2, 3)], [("ab", (0,)), ("c", (0, 1, 2)), ("def", (0,))]),
        ([(2, 4), (0, 2)], [("ab", (1,)), ("cd", (0,)), ("ef", ())]),
    ],
)
def test_ranges_cut_where_they_begin_and_end(ranges, pieces):
    assert joined("abcdef", ranges) == pieces


@pytest.mark.fuzz
@given(
    st.text(),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)).map(lambda r: (r[0], sum(r)))),
)
def test_the_pieces_are_the_text(text, ranges):
    place = 0
    for piece in cut(text, ranges):
        end = place + len(piece.text)
        assert text[place:end] == piece.text != ""
        held = tuple(i for i, (start, stop) in enumerate(ranges) if start < end and place < stop)
        assert piece.ranges == held
        place = end
    assert place == len(text)
