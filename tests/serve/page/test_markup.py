import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.serve.page.verdict import cut, escape


def test_nothing_of_a_text_is_markup_or_template():
    text = """<b onclick="x('y')">&amp; ${alert(1)} {{value}} `z`"""
    assert escape(text) == (
        "&lt;b onclick=&quot;x(&#x27;y&#x27;)&quot;&gt;&amp;amp; "
        "&#36;&#123;alert(1)&#125; &#123;&#123;value&#125;&#125; &#96;z&#96;"
    )


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
