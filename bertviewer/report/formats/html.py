"""A report as one self-contained HTML page without scripts."""

from collections.abc import Iterator, Sequence
from html import escape

from typing_extensions import override

from bertviewer.charts.theme import DARK, FONTS, LIGHT, MONO_FONTS, Theme
from bertviewer.core.util.files import resources_folder
from bertviewer.core.util.numbers import day_text
from bertviewer.core.util.text import isolated
from bertviewer.report import blocks
from bertviewer.report.blocks import Column, Row, Section, Text
from bertviewer.report.document import Front, ReportDocument
from bertviewer.report.formats.inline_svg import inline_svg
from bertviewer.report.formats.writer import (
    MAX_HEADING,
    Writer,
    anchor,
    breakable_parts,
    named_formulas,
    one_line,
    split_indices,
    split_number,
    visible,
    widest_fractions,
)

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_COVER = "cover"
_TICK = '<path d="M2 8.5 6 12.5 14 3.5"/>'
_CROSS = '<path d="M3 3 13 13M13 3 3 13"/>'
_BREAK = "\0"  # not a visible character


def html_of(document: ReportDocument, theme: Theme = LIGHT) -> str:
    """Return a document as a page in a theme's colours; the light theme includes the dark one."""
    writer = HtmlWriter(document)
    lines = (
        "<!DOCTYPE html>",
        '<html lang="en">',
        *_head(document.front, theme),
        "<body>",
        '<a class="skip" href="#report">Skip to the report</a>',
        *writer.front(),
        *writer.navigation(),
        '<main id="report">',
        *writer.sections(document.body, 2),
        "</main>",
        f"<footer>{writer.words(document.front.program)}</footer>",
        "</body>",
        "</html>",
        "",
    )
    return "\n".join(lines)


def _head(front: Front, theme: Theme) -> Iterator[str]:
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    schemes = "light dark" if theme is LIGHT else "light"
    yield f'<meta name="color-scheme" content="{schemes}">'
    yield f'<meta name="generator" content={_attribute(front.program)}>'
    metadata = {
        "author": front.author,
        "description": front.subject,
        "keywords": ", ".join(front.keywords),
        "date": front.date.isoformat(),
    }
    for name, value in metadata.items():
        if value:
            yield f'<meta name="{name}" content={_attribute(one_line(value))}>'
    yield f"<title>{escape(one_line(front.title))}</title>"
    yield f"<style>{style_sheet(theme)}</style>"
    yield "</head>"


def style_sheet(theme: Theme) -> str:
    """Return the page's CSS with the colours of a theme; the light one includes the dark one."""

    def colors(theme: Theme) -> str:
        names = ("background", "surface", "line", "text", "muted", "accent", "right", "warning")
        values = {name: getattr(theme, name) for name in names} | {
            "field": theme.field,
            "selection": theme.selection,
            "paper": LIGHT.surface,  # drawings have light colours in both themes
            "second": theme.fill("feed-forward"),
            "second-line": theme.border("feed-forward"),
        }
        return "".join(f"--{name}:{value};" for name, value in values.items())

    def family(names: tuple[str, ...]) -> str:
        return ",".join(f"'{name}'" if " " in name else name for name in names)

    rules = (resources_folder() / "report" / "page.css").read_text(encoding="utf-8")
    fonts = f"--words:{family(FONTS)};--mono:{family(MONO_FONTS)}"
    dark = (
        "html{color-scheme:light dark}",
        f"@media screen and (prefers-color-scheme:dark){{:root{{{colors(DARK)}}}}}",
    )
    lines = (f":root{{{colors(theme)}{fonts}}}", *(dark if theme is LIGHT else ()), rules)
    return "\n".join(lines)


class HtmlWriter(Writer):
    """Writes blocks and spans as HTML; text of a document is never markup."""

    def front(self) -> Iterator[str]:
        """Yield the title and the summary."""
        front = self.document.front
        yield "<header>"
        if front.picture:
            alt = "The stack of the model’s layers"
            svg = self.document.pictures[front.picture]
            yield f'<div class="cover">{inline_svg(svg, _COVER, alt)}</div>'
        yield _element("h1", front.title)
        if front.subtitle:
            yield f'<p class="subtitle">{self.words(front.subtitle)}</p>'
        day = front.date
        date = f'<time datetime="{day.isoformat()}">{day_text(day)}</time>'
        author = f"{self.words(front.author)}, " if front.author else ""
        yield f'<p class="author">{author}{date}</p>'
        if front.warning:
            yield from self.block(blocks.Paragraph.of(front.warning, look="warning"))
        yield from self.sections(self.document.summary, 2)
        yield "</header>"

    def navigation(self) -> Iterator[str]:
        """Yield the table of contents, if the report needs one."""
        if self.document.listed:
            yield '<nav aria-labelledby="contents">'
            yield '<h2 id="contents">Contents</h2>'
            yield from self.contents(self.document.listed)
            yield "</nav>"

    def contents(self, sections: Sequence[Section]) -> Iterator[str]:
        """Yield the entries of sections in the table of contents."""
        if not sections:
            return
        yield "<ol>"
        for section in sections:
            title = self.words(section.title)
            if number := self.numbers[section.name].number:
                title = f"<span>{number}</span> {title}"
            yield f'<li><a href="#{anchor(section.name)}">{title}</a>'
            if formulas := named_formulas(section):
                yield "<ol>"
                for name, formula in formulas:
                    title = f"<span></span> {self.words(formula)}"
                    yield f'<li><a href="#{anchor(name)}">{title}</a></li>'
                yield "</ol>"
            yield from self.contents(section.sections)
            yield "</li>"
        yield "</ol>"

    def sections(self, sections: Sequence[Section], level: int) -> Iterator[str]:
        """Yield sections with headings of a level."""
        for section in sections:
            title = self.words(section.title)
            if number := self.numbers[section.name].number:
                title = f'<span class="number">{number}</span> {title}'
            name = f"h{min(level, MAX_HEADING)}"
            yield f'<section id="{anchor(section.name)}">'
            yield f"<{name}>{title}</{name}>"
            for block in section.blocks:
                yield from self.block(block, level + 1)
            yield from self.sections(section.sections, level + 1)
            yield "</section>"

    @override
    def paragraph(self, block: blocks.Paragraph) -> Iterator[str]:
        classes = "" if block.look == "plain" else f' class="{block.look}"'
        name = "blockquote" if block.look == "quote" else "p"
        yield f'<{name}{classes} dir="auto">{self.text(block.text)}</{name}>'

    @override
    def facts(self, block: blocks.Facts) -> Iterator[str]:
        yield '<dl class="facts">'
        for name, text in block.pairs:
            yield f"<div><dt>{self.words(name)}</dt><dd>{self.text(text)}</dd></div>"
        yield "</dl>"

    @override
    def table(self, block: blocks.Table) -> Iterator[str]:
        # A table that is larger than the page has its own scroll bars, below its caption.
        region, label = "", ""
        if block.name:
            name, number = anchor(block.name), self.numbers[block.name].text
            caption = f"<b>{number}</b> {self.text(block.caption)}"
            label = f' aria-labelledby="{name}-caption"'
            region = f' tabindex="0" role="region"{label}'
            yield f'<figure class="captioned" id="{name}">'
            yield f'<figcaption id="{name}-caption">{caption}</figcaption>'
        classes = ' class="full"' if any(column.share for column in block.columns) else ""
        yield f'<div class="scroll"{region}>'
        yield f"<table{classes}{label}>"
        shares = sum(column.share for column in block.columns)
        columns = (
            f'<col style="width:{100 * column.share / shares:.4g}%">' if column.share else "<col>"
            for column in block.columns
        )
        yield f"<colgroup>{''.join(columns)}</colgroup>"
        if any(column.title or column.unit for column in block.columns):
            titles = "".join(map(self._column_title, block.columns))
            yield f"<thead><tr>{titles}</tr></thead>"
        fractions = widest_fractions(block.columns, block.rows)
        for group in _row_groups(block.rows):
            yield "<tbody>"
            yield from (self._row(row, block.columns, fractions) for row in group)
            yield "</tbody>"
        yield "</table>"
        yield "</div>"
        if block.name:
            yield "</figure>"

    def _column_title(self, column: Column) -> str:
        unit = f' <span class="unit">{self.words(column.unit)}</span>' if column.unit else ""
        classes = _class(_column_classes(column))
        return f'<th scope="col"{classes}>{self.words(column.title)}{unit}</th>'

    def _row(self, row: Row, columns: Sequence[Column], fractions: Sequence[str]) -> str:
        if row.look == "head":
            return f'<tr class="head">{"".join(self._head_cells(row, len(columns)))}</tr>'
        cells = (
            self._cell(cell, column, fraction, row.level if place == 0 else None)
            for place, (cell, column, fraction) in enumerate(
                zip(row.cells, columns, fractions, strict=True)
            )
        )
        return f"<tr{_class(['total'] if row.look == 'total' else [])}>{''.join(cells)}</tr>"

    def _head_cells(self, row: Row, count: int) -> Iterator[str]:
        first, *others = map(self.text, row.cells)
        yield f'<th colspan="{count - len(others)}" scope="rowgroup">{first}</th>'
        yield from (f'<td class="right">{cell}</td>' for cell in others)

    def _cell(self, cell: Text, column: Column, widest: str, level: int | None) -> str:
        """Return a cell; ``level`` is the indentation of the first one, ``None`` for others."""
        classes, style = _column_classes(column), ""
        if level:
            classes.append("level")
            style = f' style="--level:{level}"'
        # The text of the first column is the heading of its row.
        name = "th" if level is not None and column.align == "left" else "td"
        scope = ' scope="row"' if name == "th" else ""
        split = split_number(cell) if widest else None
        if split is None:
            content = self.text(cell)
        else:
            fraction = self.text(split.fraction)
            width = f'style="width:{len(widest)}ch"'
            content = f'{self.text(split.whole)}<span class="fraction" {width}>{fraction}</span>'
        return f"<{name}{scope}{_class(classes)}{style}>{content}</{name}>"

    @override
    def figure(self, block: blocks.Figure) -> Iterator[str]:
        target = anchor(block.name)
        yield f'<figure id="{target}">'
        yield f'<div class="picture" style="width:{100 * block.width:.4g}%">'
        yield inline_svg(self.document.pictures[block.picture], target, block.alt)
        yield "</div>"
        number, caption = self.numbers[block.name].text, self.text(block.caption)
        yield f"<figcaption><b>{number}</b> {caption}</figcaption>"
        yield "</figure>"

    @override
    def formula(self, block: blocks.FormulaBlock, level: int) -> Iterator[str]:
        target = f' id="{anchor(block.name)}"' if block.name else ""
        yield f'<div class="formula"{target}>'
        yield _heading(block.title, level)
        if block.about:
            yield f'<p class="about">{self.text(block.about)}</p>'
        if block.summary:
            yield f"<p>{self.letters(block.summary)}</p>"
        yield '<div class="equation">'
        yield "<div>"
        for source in block.maths:
            yield f'<div class="maths">{self.mathml(source, is_block=True)}</div>'
        yield "</div>"
        if block.name:
            yield f'<span class="tag">({self.numbers[block.name].number})</span>'
        yield "</div>"
        if block.where:
            yield f'<p class="where">{self.text(block.where)}</p>'
        yield from (f'<p class="note">{self.cited(note)}</p>' for note in block.notes)
        if block.source:
            yield f'<p class="source">Source: {self.cited(block.source)}</p>'
        yield "</div>"

    @override
    def sum(self, block: blocks.Sum, level: int) -> Iterator[str]:
        yield '<div class="sum">'
        yield f"<p>{self.strong(block.title)}</p>"
        if block.terms:
            yield '<p class="terms">'
            yield from (self._sum_term(term, len(block.terms) == 1) for term in block.terms)
            yield "</p>"
        if block.result:
            tick = f" {self.tick(True)}" if block.is_proven else ""
            sign = "= " if block.terms else ""
            yield f'<p class="result">{sign}{self.strong(block.result)}{tick}</p>'
        if block.reason:
            yield f'<p class="note">{self.words(block.reason)}</p>'
        yield "</div>"

    def _sum_term(self, term: blocks.SumTerm, is_only: bool) -> str:
        sign = f'<span class="sign">{self.words(term.sign)}</span> ' if term.sign else ""
        lines = [self.letters(term.letters), self.muted(term.numbers)]
        if not is_only:  # else its value is the result
            lines.append(self.letters(term.value))
        return f'<span class="term">{sign}<span class="lines">{"<br>".join(lines)}</span></span>'

    @override
    def answer(self, block: blocks.Answer) -> Iterator[str]:
        yield '<aside class="answer">'
        yield f'<p class="question">{self.strong(block.question)}</p>'
        yield f"<p>{self.cited(block.text)}</p>"
        if block.measured:
            yield f"<p>{_element('em', block.measured)}</p>"
        if block.source:
            yield f'<p class="source">{self.cited(block.source)}</p>'
        yield "</aside>"

    @override
    def tokens(self, block: blocks.Tokens) -> Iterator[str]:
        yield f'<ol class="tokens">{"".join(map(self._token, block.tokens))}</ol>'

    def _token(self, token: blocks.TokenBox) -> str:
        under = f"<small>{self.words(token.under)}</small>" if token.under else ""
        classes = _class(["second"] if token.is_second else [])
        return f"<li{classes}>{_element('b', token.text)}{under}</li>"

    @override
    def listing(self, block: blocks.Listing) -> Iterator[str]:
        lines = "\n".join(block.lines)
        yield f"<pre>{_element('code', lines)}</pre>"

    @override
    def points(self, block: blocks.Points) -> Iterator[str]:
        items = (f'<li dir="auto">{self.text(text)}</li>' for text in block.points)
        yield f"<ul>{''.join(items)}</ul>"

    @override
    def bibliography(self, block: blocks.Bibliography) -> Iterator[str]:
        yield f'<ul class="works">{"".join(map(self._entry, block.entries))}</ul>'

    def _entry(self, entry: blocks.Entry) -> str:
        link = escape(entry.link)
        if entry.link.startswith(("https://", "http://")):
            link = f"<a href={_attribute(entry.link)}>{link}</a>"
        text = f"{self.words(entry.text)}{f' {link}' if link else ''}"
        return f'<li id="work-{self.cite_keys[entry.key]}">{text}</li>'

    @override
    def words(self, text: str) -> str:
        escaped = escape(visible(text))
        return f"<bdi>{escaped}</bdi>" if _has_right_to_left(text) else escaped

    @override
    def code(self, text: str) -> str:
        parts = _BREAK.join(breakable_parts(visible(text)))
        direction = ' dir="auto"' if _has_right_to_left(text) else ""
        return f"<code{direction}>{escape(parts).replace(_BREAK, '<wbr>')}</code>"

    @override
    def maths(self, source: str) -> str:
        return self.mathml(source)

    @override
    def letters(self, text: str) -> str:
        return "".join(
            f"<sub>{escape(part)}</sub>" if place % 2 else self.words(part)
            for place, part in enumerate(split_indices(text))
        )

    @override
    def strong(self, text: str) -> str:
        return _element("strong", text)

    @override
    def muted(self, text: str) -> str:
        return _element("span", text, ["muted"])

    @override
    def reference(self, name: str) -> str:
        return f'<a href="#{anchor(name)}">{escape(self.numbers[name].text)}</a>'

    @override
    def citation(self, key: str) -> str:
        return f'<a class="citation" href="#work-{self.cite_keys[key]}">{escape(key)}</a>'

    @override
    def tick(self, holds: bool) -> str:
        name, path = ("yes", _TICK) if holds else ("no", _CROSS)
        attributes = f'class="tick {name}" viewBox="0 0 16 16" role="img" aria-label="{name}"'
        return f"<svg {attributes}>{path}</svg>"

    @override
    def bar(self, share: float) -> str:
        percent = f"{100 * share:.4g}%"
        inner = f'<span style="width:{percent}"></span>'
        return f'<span class="bar" role="img" aria-label="{percent}">{inner}</span>'

    @override
    def line_break(self) -> str:
        return "<br>"


def _row_groups(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield rows together with the heading above them."""
    group: list[Row] = []
    for row in rows:
        if row.look == "head" and group:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _column_classes(column: Column) -> list[str]:
    if column.align == "left":
        return ["wide"] if column.share else []
    return [column.align]


def _class(names: Sequence[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""


def _heading(title: str, level: int) -> str:
    return _element(f"h{min(level, MAX_HEADING)}", title)


def _element(name: str, text: str, classes: Sequence[str] = ()) -> str:
    """Return an element with a text, which keeps its writing direction."""
    direction = ' dir="auto"' if _has_right_to_left(text) else ""
    return f"<{name}{_class(classes)}{direction}>{escape(visible(text))}</{name}>"


def _attribute(text: str) -> str:
    """Return the value of an attribute in quotes."""
    return f'"{escape(visible(text))}"'


def _has_right_to_left(text: str) -> bool:
    return isolated(text) is not text
