"""Pieces of HTML: no text that comes from elsewhere does anything."""

import pytest

from noisyor.report.markup import and_so_on, bullets, number, paragraph, section, table, text

HOSTILE = "<script>alert(\"x\")</script> & 'y' \x07"
ESCAPED = "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#x27;y&#x27; \ufffd"


def test_every_piece_escapes_what_it_is_given():
    assert text(HOSTILE) == ESCAPED
    assert paragraph(HOSTILE) == f"<p>{ESCAPED}</p>"
    assert bullets([HOSTILE, "b"]) == f"<ul><li>{ESCAPED}</li><li>b</li></ul>"
    assert f'<h2 id="a-title">{ESCAPED}</h2>' in section("a", HOSTILE)
    made = table([HOSTILE, HOSTILE], [[HOSTILE, HOSTILE]], caption=HOSTILE)
    assert made.count(ESCAPED) == 5
    assert "<script" not in made


def test_numbers_are_aligned_right_and_texts_left():
    made = table(["name", "kind", "n"], [["a", "b", 3]], caption="c", texts=2)
    assert '<td>a</td><td>b</td><td class="number">3</td>' in made
    assert made.count(' class="number"') == 2
    with pytest.raises(ValueError, match="zip"):
        table(["name", "n"], [["a"]], caption="c")


def test_what_is_empty_leaves_nothing_behind():
    assert bullets([]) == ""
    assert section("a", "A", "", "<p>x</p>", "").count("\n") == 2
    assert paragraph("x", "note") == '<p class="note">x</p>'


def test_numbers_keep_the_digits_that_matter():
    assert [number(each) for each in (0.0, 1.0, 0.001, 0.00099, -0.00012, 1e-12)] == [
        "0.0000", "1.0000", "0.0010", "0.00099", "-0.00012", "0.000000000",
    ]  # fmt: skip
    assert number(float("inf")) == ""
    assert and_so_on(["priors"]) == "priors"
