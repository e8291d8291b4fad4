"""Any text, in every place where untrusted text may be, is read back unchanged."""

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
    Points,
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
from tests.report.formats.documents import (
    FOREIGN,
    HOSTILE,
    document_of,
    latex_writer,
    markdown_writer,
)
from tests.report.formats.parsing import read_html, read_latex, read_markdown

# All of Unicode, with more of the characters that are markup in a format.
SPECIAL = (
    "<>&\"'`\\{}$#%_^~*[]|-=+.!:/@ \n\t\0\x07\ud800\udfff\u202e\u2066\u2069\u200b\u200d\ufeffש中"
)
RANDOM = st.text(st.characters() | st.sampled_from(SPECIAL), max_size=40)
TEXTS = RANDOM | st.sampled_from(
    (*HOSTILE, *FOREIGN, "\r\n", "\u2028\x85", "a\\\\b -- '' ,, ?` !`")
)
ISOLATES = re.compile("[\u2066-\u2069]")
USUAL = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def blocks_of(text: str) -> tuple[Block, ...]:
    return (
        Paragraph((text,)),
        Table((Column(text or "a"),), (Row(((Code(text),),)),), "table", (text,)),
        Tokens((TokenBox(text, text),)),
        Listing((text, text)),
        Points(((text,),)),
    )


@USUAL
@given(TEXTS)
def test_unsafe_characters_are_escaped_once(text: str) -> None:
    found = visible(text)
    found.encode()
    assert visible(found) == found
    kept = "\n\t\u200c\u200d\u2066\u2067\u2068\u2069"
    assert all(one.isprintable() or one in kept or one.isspace() for one in found)
    line = one_line(text)
    assert "\n" not in line
    assert len(line.splitlines()) <= 1


@USUAL
@given(TEXTS, TEXTS)
def test_html(text: str, title: str) -> None:
    html = read_html(html_of(document_of(*blocks_of(text), title=title)))
    assert html.one("h1").text == visible(title)
    assert html.one("head").one("title").text == one_line(title)
    main = html.one("main")
    assert main.one("p").text == visible(text)
    assert main.one("thead").one("th").text == visible(text or "a")
    assert main.one("figcaption").text == f"Table 1.1 {visible(text)}"
    assert main.one("tbody").one("code").text == visible(text)
    assert main.one("ol").one("b").text == visible(text)
    assert main.one("pre").text == visible(f"{text}\n{text}")
    assert main.one("ul").text == visible(text)
    names = {node.name for node in main.everything} - {"main"}
    assert names <= {
        *(
            "section",
            "h2",
            "span",
            "p",
            "bdi",
            "div",
            "figure",
            "table",
            "figcaption",
            "b",
            "colgroup",
            "col",
        ),
        *("thead", "tbody", "tr", "th", "td", "code", "wbr", "ol", "ul", "li", "small", "pre"),
    }


@USUAL
@given(TEXTS)
@example("a\\|b")
@example("`` ` ``")
def test_markdown(text: str) -> None:
    words = markdown_writer().words(text)
    assert "\n" not in words
    assert read_markdown(words if words.isascii() else without_isolates(words)) in (
        one_line(text),
        without_isolates(one_line(text)),
    )
    code = ISOLATES.sub("", markdown_writer().code(text))
    # A table cell ends at the first bar without a backslash.
    assert not re.search(r"(?<!\\)(?:\\\\)*\|", words + code)
    if code.startswith("<code>"):
        code = read_markdown(code.removeprefix("<code>").removesuffix("</code>"))
    else:
        code = code.removeprefix("`").removesuffix("`")
    assert code == ISOLATES.sub("", one_line(text))


@USUAL
@given(TEXTS)
def test_latex(text: str) -> None:
    plain = ISOLATES.sub("", one_line(text))
    assert read_latex(latex_writer().words(text)) == plain
    assert read_latex(latex_writer().code(text)) == plain


@USUAL
@given(TEXTS, TEXTS)
def test_latex_has_no_commands_of_the_text(text: str, title: str) -> None:
    written = latex_of(document_of(*blocks_of(text), title=title), "f")
    written.encode()
    plain = latex_of(document_of(*blocks_of("a"), title="a"), "f")
    known = set(re.findall(r"\\[A-Za-z]+", plain)) | {"\\sign", "\\missing", "\\ensuremath"}
    known |= {"\\uni", "\\fromright", "\\brk", "\\textbackslash", "\\textasciicircum"}
    known |= {"\\textless", "\\textgreater", "\\textasciitilde", "\\textquotedbl"}
    known |= {"\\textasciigrave", "\\textquotesingle"}
    body = re.sub(r"^\\sign.*$", "", written, flags=re.M)
    assert set(re.findall(r"\\[A-Za-z]+", body)) <= known


@USUAL
@given(TEXTS)
@example("\U0001f600\ud83d line\u2028separator")
def test_json(text: str) -> None:
    document = document_of(Paragraph((text, Code(text))))
    written = format_by_name("json").write(document, Options(), "").content.decode()
    assert all(line.isprintable() for line in written.split("\n"))
    first, code = json.loads(written)["chapters"][0]["blocks"][0]["text"]
    # A high surrogate followed by a low one is one character.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert first == code["text"] == whole
