"""Texts as HTML, in which nothing is markup but what the spans say."""

from html import escape

from bertviewer.core.util.text import isolated
from bertviewer.report import blocks
from bertviewer.report.formats.mathml import Line
from bertviewer.report.formats.plain import breakable, indexed, shown
from bertviewer.report.formats.reading import Reading, anchor

# Where a long path may go on in the next line.
_TICK = '<path d="M2 8.5 6 12.5 14 3.5"/>'
_CROSS = '<path d="M3 3 13 13M13 3 3 13"/>'


def html_text(text: blocks.Text, reading: Reading) -> str:
    """Return the spans of a text, one after the other."""
    return "".join(_span(span, reading) for span in text)


def html_words(words: str) -> str:
    """Return plain words, which keep their own direction within others."""
    escaped = escape(shown(words))
    return f"<bdi>{escaped}</bdi>" if _turns(words) else escaped


def html_letters(words: str) -> str:
    """Return words of the program's own, in which ``N_e`` is an N with an index."""
    return "".join(
        f"<sub>{escape(piece)}</sub>" if place % 2 else html_words(piece)
        for place, piece in enumerate(indexed(words))
    )


def element(name: str, words: str, classes: str = "") -> str:
    """Return words within an element that keeps their direction."""
    attributes = f' class="{classes}"' if classes else ""
    if _turns(words):
        attributes += ' dir="auto"'
    return f"<{name}{attributes}>{escape(shown(words))}</{name}>"


def html_code(code: str) -> str:
    """Return a path or a key, which may break behind its dots."""
    broken = "\0".join(breakable(shown(code)))  # there is no such letter in what is shown
    attributes = ' dir="auto"' if _turns(code) else ""
    return f"<code{attributes}>{escape(broken).replace(chr(0), '<wbr>')}</code>"


def attribute(text: str) -> str:
    """Return a text as an attribute's value, in its quotes."""
    return f'"{escape(shown(text))}"'


def html_tick(holds: bool) -> str:
    """Return a drawn tick or cross."""
    name, path = ("yes", _TICK) if holds else ("no", _CROSS)
    return (
        f'<svg class="tick {name}" viewBox="0 0 16 16" role="img" aria-label="{name}">{path}</svg>'
    )


def _span(span: blocks.Span, reading: Reading) -> str:
    match span:
        case str():
            return html_words(span)
        case blocks.Code(text):
            return html_code(text)
        case blocks.Maths(source):
            return reading.mathml[Line(source)]
        case blocks.Letters(text):
            return html_letters(text)
        case blocks.Strong(text):
            return element("strong", text)
        case blocks.Muted(text):
            return element("span", text, "muted")
        case blocks.See(name):
            return f'<a href="#{anchor(name)}">{escape(reading.numbers[name].text)}</a>'
        case blocks.Tick(holds):
            return html_tick(holds)
        case blocks.Bar(share):
            percent = f"{100 * share:.4g}%"
            return (
                f'<span class="bar" role="img" aria-label="{percent}">'
                f'<span style="width:{percent}"></span></span>'
            )
        case blocks.Break():
            return "<br>"


def _turns(text: str) -> bool:
    return isolated(text) is not text
