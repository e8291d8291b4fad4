"""Formulas in letters: an index stands below its letter, and a name is no letter with an index."""

import pytest

from bertviewer.report.blocks import Letters, Paragraph
from bertviewer.report.formats.html import html_of
from bertviewer.report.formats.markdown import markdown_of
from bertviewer.report.formats.writer import split_indices
from tests.report.formats.documents import document_of, latex_writer
from tests.report.formats.parsing import read_html


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("N_e·(12·D²)", ("N", "e", "·(12·D²)")),
        ("[B, S_d, D]", ("[B, S", "d", ", D]")),
        ("W_Q, W_K", ("W", "Q", ", W", "K", "")),
        ("6·d_k", ("6·d", "k", "")),
        ("A·relative_attention_num_buckets", ("A·relative_attention_num_buckets",)),
        ("c_attn.weight, x_a_b, ln_f", ("c_attn.weight, x_a_b, ln_f",)),
    ],
)
def test_pieces(text: str, pieces: tuple[str, ...]) -> None:
    assert split_indices(text) == pieces


def test_formats() -> None:
    document = document_of(Paragraph((Letters("N_e·<D>"),)))
    html = html_of(document)
    assert "N<sub>e</sub>·&lt;D&gt;" in html
    assert read_html(html).one("main").one("p").text == "Ne·<D>"
    assert "N\\_e·\\<D\\>" in markdown_of(document, "f")
    assert latex_writer().letters("N_e & 1") == r"N\textsubscript{e}\ \& 1"
