"""The blocks of a report as HTML."""

from collections.abc import Iterator
from html import escape
from typing import assert_never

from bertviewer.core.formulas.formula import Term
from bertviewer.report import blocks
from bertviewer.report.formats.html_picture import inline_svg
from bertviewer.report.formats.html_table import html_table
from bertviewer.report.formats.html_text import (
    attribute,
    element,
    html_letters,
    html_text,
    html_tick,
    html_words,
)
from bertviewer.report.formats.mathml import Line
from bertviewer.report.formats.reading import Reading, anchor

DEEPEST = 6
"""The last level of headings that HTML has."""


def html_block(  # noqa: PLR0912  one branch for each kind
    block: blocks.Block, reading: Reading, level: int
) -> Iterator[str]:
    """Yield a block's lines; ``level`` is that of a heading within it."""
    match block:
        case blocks.Paragraph(text, look):
            classes = "" if look == "plain" else f' class="{look}"'
            name = "blockquote" if look == "quote" else "p"
            yield f'<{name}{classes} dir="auto">{html_text(text, reading)}</{name}>'
        case blocks.Facts(pairs):
            yield '<dl class="facts">'
            for name, text in pairs:
                yield f"<div><dt>{html_words(name)}</dt><dd>{html_text(text, reading)}</dd></div>"
            yield "</dl>"
        case blocks.Table():
            yield from html_table(block, reading)
        case blocks.Figure():
            yield from _figure(block, reading)
        case blocks.FormulaBlock():
            yield from _formula(block, reading, level)
        case blocks.Sum():
            yield from _sum(block, level)
        case blocks.Answer():
            yield from _answer(block)
        case blocks.Tokens(tokens):
            yield '<ol class="tokens">' + "".join(map(_token, tokens)) + "</ol>"
        case blocks.Listing(lines):
            yield f"<pre>{element('code', chr(10).join(lines))}</pre>"
        case blocks.Points(points):
            items = (f'<li dir="auto">{html_text(text, reading)}</li>' for text in points)
            yield "<ul>" + "".join(items) + "</ul>"
        case blocks.Bibliography(entries):
            yield '<ul class="works">' + "".join(map(_entry, entries)) + "</ul>"
        case _:
            assert_never(block)


def _figure(figure: blocks.Figure, reading: Reading) -> Iterator[str]:
    target = anchor(figure.name)
    svg = reading.document.pictures[figure.picture]
    yield f'<figure id="{target}">'
    yield f'<div class="picture" style="width:{100 * figure.width:.4g}%">'
    yield inline_svg(svg, target, figure.alt)
    yield "</div>"
    number, caption = reading.numbers[figure.name].text, html_text(figure.caption, reading)
    yield f"<figcaption><b>{number}</b> {caption}</figcaption>"
    yield "</figure>"


def _formula(block: blocks.FormulaBlock, reading: Reading, level: int) -> Iterator[str]:
    yield '<div class="formula">'
    yield _heading(block.title, level)
    if block.about:
        yield f'<p class="about">{html_text(block.about, reading)}</p>'
    if block.summary:
        yield f"<p>{html_letters(block.summary)}</p>"
    for source in block.maths:
        yield f'<div class="maths">{reading.mathml[Line(source, is_block=True)]}</div>'
    if block.terms:
        yield '<dl class="legend">'
        yield from (_term(term, reading) for term in block.terms)
        yield "</dl>"
    yield from (f'<p class="note">{html_letters(note)}</p>' for note in block.notes)
    if block.source:
        yield f'<p class="source">Source: {html_words(block.source)}</p>'
    yield "</div>"


def _term(term: Term, reading: Reading) -> str:
    value = "" if term.value is None else f'<dd class="value">{html_letters(term.value)}</dd>'
    symbol = reading.mathml[Line(term.symbol)]
    return f"<div><dt>{symbol}</dt><dd>{html_letters(term.meaning)}</dd>{value}</div>"


def _sum(block: blocks.Sum, level: int) -> Iterator[str]:
    yield '<div class="sum">'
    yield _heading(block.title, level)
    if block.terms:
        is_one = len(block.terms) == 1
        yield '<p class="terms">'
        yield from (_sum_term(term, is_one) for term in block.terms)
        yield "</p>"
    if block.result:
        tick = f" {html_tick(True)}" if block.is_proven else ""
        sign = "= " if block.terms else ""
        yield f'<p class="result">{sign}{element("strong", block.result)}{tick}</p>'
    if block.reason:
        yield f'<p class="note">{html_words(block.reason)}</p>'
    yield "</div>"


def _sum_term(term: blocks.SumTerm, is_one: bool) -> str:
    """Return three lines, one below the other; the value of an only term is the result."""
    sign = f'<span class="sign">{html_words(term.sign)}</span> ' if term.sign else ""
    lines = [html_letters(term.letters), element("span", term.numbers, "muted")]
    if not is_one:
        lines.append(html_letters(term.value))
    return f'<span class="term">{sign}<span class="lines">{"<br>".join(lines)}</span></span>'


def _answer(block: blocks.Answer) -> Iterator[str]:
    yield '<aside class="answer">'
    yield f'<p class="question">{element("strong", block.question)}</p>'
    yield f"<p>{html_letters(block.text)}</p>"
    if block.measured:
        yield f"<p>{element('em', block.measured)}</p>"
    if block.source:
        yield f'<p class="source">{html_words(block.source)}</p>'
    yield "</aside>"


def _token(token: blocks.TokenBox) -> str:
    classes = ' class="second"' if token.is_second else ""
    under = f"<small>{html_words(token.under)}</small>" if token.under else ""
    return f"<li{classes}>{element('b', token.text)}{under}</li>"


def _entry(entry: blocks.Entry) -> str:
    link = escape(entry.link)
    if entry.link.startswith(("https://", "http://")):
        link = f"<a href={attribute(entry.link)}>{link}</a>"
    after = f" {link}" if link else ""
    return f'<li id="work-{anchor(entry.key)}">{html_words(entry.text)}{after}</li>'


def _heading(title: str, level: int) -> str:
    name = f"h{min(level, DEEPEST)}"
    return element(name, title)
