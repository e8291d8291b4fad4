"""Any text at all, in every place that a stranger's text can have, reads back as it was."""

import json
import re

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bertviewer.core.util.text import without_isolates
from bertviewer.report.blocks import (
    Block,
    Code,
    Column,
    Listing,
    Paragraph,
    Row,
    Table,
    TokenBox,
    Tokens,
)
from bertviewer.report.formats.formats import format_by_name
from bertviewer.report.formats.html import html_of
from bertviewer.report.formats.latex import latex_of
from bertviewer.report.formats.writer import one_line, visible
from bertviewer.report.options import Options
from tests.report.formats.documents import document_of, latex_writer, markdown_writer
from tests.report.formats.parsing import read_html, read_latex, read_markdown

# All of Unicode, and more of what the formats read as something else.
SPECIAL = (
    "<>&\"'`\\{}$#%_^~*[]|-=+.!:/@ \n\t\0\x07\ud800\udfff\u202e\u2066\u2069\u200b\u200d\ufeffש中"
)
TEXTS = st.text(st.characters() | st.sampled_from(SPECIAL), max_size=40)
ISOLATES = re.compile("[\u2066-\u2069]")
USUAL = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@USUAL
@given(TEXTS)
@example("\r\n")
@example("\u2028\x85")
def test_what_is_shown_can_be_seen_and_written(text: str) -> None:
    found = visible(text)
    found.encode()
    assert visible(found) == found
    for letter in found:
        assert letter.isprintable() or letter in "\n\t\u200c\u200d\u2066\u2067\u2068\u2069" or (
            letter.isspace()
        )  # fmt: skip
    line = one_line(text)
    assert "\n" not in line
    assert len(line.splitlines()) <= 1


@USUAL
@given(TEXTS, TEXTS)
def test_html(text: str, title: str) -> None:
    blocks = (
        Paragraph((text,)),
        Table((Column(text or "a"),), (Row(((Code(text),),)),), "table", (text,)),
        Tokens((TokenBox(text, text),)),
        Listing((text, text)),
    )
    html = read_html(html_of(document_of(*blocks, title=title)))
    assert html.one("h1").text == visible(title)
    assert html.one("head").one("title").text == one_line(title)
    main = html.one("main")
    assert main.one("p").text == visible(text)
    assert main.one("thead").one("th").text == visible(text or "a")
    assert main.one("caption").text == f"Table 1.1 {visible(text)}"
    assert main.one("tbody").one("code").text == visible(text)
    token = main.one("li")
    assert token.one("b").text == visible(text)
    assert main.one("pre").text == visible(f"{text}\n{text}")
    names = {node.name for node in main.everything} - {"main"}
    assert names <= {
        *("section", "h2", "span", "p", "bdi", "div", "table", "caption", "b", "colgroup", "col"),
        *("thead", "tbody", "tr", "th", "td", "code", "wbr", "ol", "li", "small", "pre"),
    }


@USUAL
@given(TEXTS)
@example("a\\|b")
@example("`` ` ``")
def test_markdown(text: str) -> None:
    words = markdown_writer().words(text)
    assert read_markdown(words if words.isascii() else without_isolates(words)) in (
        one_line(text),
        without_isolates(one_line(text)),
    )
    code = ISOLATES.sub("", markdown_writer().code(text))
    plain = ISOLATES.sub("", one_line(text))
    if code.startswith("<code>"):
        code = read_markdown(code.removeprefix("<code>").removesuffix("</code>"))
    else:
        code = code.removeprefix("`").removesuffix("`")
    assert code == plain
    assert not re.search(r"(?<!\\)(?:\\\\)*\|", words)


@USUAL
@given(TEXTS)
@example("a\\\\b -- '' ,, ?` !`")
def test_latex(text: str) -> None:
    plain = ISOLATES.sub("", one_line(text))
    assert read_latex(latex_writer().words(text)) == plain
    assert read_latex(latex_writer().code(text)) == plain


@USUAL
@given(TEXTS, TEXTS)
def test_latex_has_its_own_commands_alone(text: str, title: str) -> None:
    one = latex_of(document_of(*_blocks(text), title=title), "f")
    one.encode()
    other = latex_of(document_of(*_blocks("a"), title="a"), "f")
    own = set(re.findall(r"\\[A-Za-z]+", other)) | {"\\sign", "\\missing", "\\ensuremath"}
    texts = {"\\uni", "\\fromright", "\\brk", "\\textbackslash", "\\textasciicircum", "\\textless"}
    texts |= {"\\textasciitilde", "\\textgreater", "\\textquotedbl", "\\textasciigrave"}
    texts |= {"\\textquotesingle"}
    written = re.sub(r"^\\sign.*$", "", one, flags=re.M)
    assert set(re.findall(r"\\[A-Za-z]+", written)) <= own | texts


@USUAL
@given(TEXTS)
def test_json(text: str) -> None:
    document = document_of(Paragraph((text, Code(text))))
    written = format_by_name("json").write(document, Options(), "").content
    first, code = json.loads(written)["chapters"][0]["blocks"][0]["text"]
    # Two halves of a letter that stand side by side are that letter.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert first == code["text"] == whole


def _blocks(text: str) -> tuple[Block, ...]:
    return (
        Paragraph((text,)),
        Table((Column(text),), (Row(((Code(text),),)),), "table", (text,)),
        Tokens((TokenBox(text, text),)),
        Listing((text,)),
    )
