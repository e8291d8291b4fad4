"""What the text formats write for every kind of block and span."""

import re
from collections.abc import Callable

import pytest

from bertviewer.core.util.files import resources_folder
from bertviewer.report.blocks import (
    Break,
    Code,
    Column,
    Listing,
    Paragraph,
    Points,
    Row,
    Strong,
    Table,
)
from bertviewer.report.formats.formats import format_by_name
from bertviewer.report.formats.markdown import markdown_of
from bertviewer.report.formats.saving import FILES
from bertviewer.report.formats.writer import picture_file, split_indices
from bertviewer.report.options import Options
from tests.report.formats.conftest import FOLDER
from tests.report.formats.documents import document_of, full_document, markdown_writer


@pytest.mark.parametrize("name", ["html", "markdown", "latex", "json"])
def test_all_blocks_are_those_of_the_golden_file(
    name: str, golden: Callable[[str, str], None]
) -> None:
    form = format_by_name(name)
    text = form.write(full_document(is_golden=True), Options(), FOLDER).content.decode()
    text = re.sub(r"<style>.*?</style>", "<style>…</style>", text, flags=re.DOTALL)
    preamble = (resources_folder() / "report" / "preamble.tex").read_text(encoding="utf-8")
    golden(f"blocks{form.suffixes[0]}", text.replace(preamble, ""))


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
def test_subscripts_follow_single_letters_only(text: str, pieces: tuple[str, ...]) -> None:
    assert split_indices(text) == pieces


def test_different_pictures_have_different_file_names() -> None:
    names = ["a.b", "a-b", "a_b", "a:b", "a/b", "../a", "heads-encoder.layer.0.self-0", "注"]
    files = [picture_file(name, ".svg") for name in names]
    assert len(set(files)) == len(names)
    assert all(FILES.fullmatch(file) for file in files)
    assert files[6] == "figure-heads-encoder.layer.0.self-0.svg"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (Paragraph(("- a",)), r"\- a"),
        (Paragraph(("-a",)), "-a"),
        (Paragraph(("---",)), r"\---"),
        (Paragraph(("===",)), r"\==="),
        (Paragraph(("= 3",)), "= 3"),
        (Paragraph(("1. one",)), r"1\. one"),
        (Paragraph(("12) two",)), r"12\) two"),
        (Paragraph(("1.5",)), "1.5"),
        (Paragraph(("+ b",)), r"\+ b"),
        (Paragraph(("a", Break(), "- b")), "a\\\n\\- b"),
        (Paragraph(("a", Break(), "b"), "quote"), "> a\\\n> b"),
        (Points((("a", Break(), "b"),)), "- a\\\n  b"),
        (
            Table((Column("A"),), (Row((("a", Break(), Strong("(b)")),)),)),
            f"| A{' ' * 14} |\n| {'-' * 15} |\n| a<br><b>(b)</b> |",
        ),
        # A fence is longer than any row of backquotes in the lines.
        (Listing(("````", "```", "# x  y", "a\nb")), "`````\n````\n```\n# x  y\na b\n`````"),
        (Paragraph((Code("שלום"),)), "\u2068`שלום`\u2069"),
        (Paragraph((Code("a.b_c"),)), "`a.b_c`"),
        (Paragraph((Code("a`b|c"),)), r"<code>a\`b\|c</code>"),
    ],
)
def test_markdown_is_read_as_it_is_meant(
    block: Paragraph | Points | Table | Listing, expected: str
) -> None:
    text = markdown_of(document_of(block), FOLDER)
    assert text.partition("## 1 A chapter\n\n")[2].partition("\n---\n")[0].strip() == expected
    assert markdown_writer().code("") == ""
