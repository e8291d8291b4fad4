"""What is recorded, as sections of lines: a text that can be compared line by line."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Sections = dict[str, list[str]]
"""The lines of a record under their headings."""

_LABELS = ("path", "name", "id", "letter", "key", "step")
_DIGITS = 5
_SMALLEST = 1e-6
"""Absolute rounding: means of normalised values are rounding errors around zero."""
_SHORT = 80
"""A list of words that has so many letters at most is one line."""
_ROUGH = ("error", "tolerance")
"""Figures of which only the order of magnitude is recorded."""


def text_of(sections: Sections) -> str:
    """Return sections as the text of a file."""
    return "".join(
        f"## {heading}\n" + "".join(f"{line}\n" for line in lines)
        for heading, lines in sections.items()
    )


def sections_of(text: str) -> Sections:
    """Read what ``text_of`` wrote."""
    sections: Sections = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("## "):
            lines = sections.setdefault(line[3:], [])
        else:
            lines.append(line)
    return sections


def facts_sections(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> Sections:
    """Return a section for each entry; what is ``None`` or empty has no line, a list several."""
    return _distinct((heading, list(_fact_lines(facts))) for heading, facts in entries)


def _fact_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(facts):
        value = facts[name]
        for one in value if isinstance(value, list) else [value]:
            if one not in (None, ""):
                yield f"{name}: {one}"


def document_sections(document: Mapping[str, Any]) -> Sections:
    """Return a section for each entry of a JSON document's lists, and one for each other key."""
    return _distinct(_of_document(document))


def markdown_sections(text: str) -> Sections:
    """Return the sections of a Markdown text by their titles, without the padding of tables."""
    found: list[tuple[str, list[str]]] = [("start", [])]
    for line in text.splitlines():
        if line.startswith("#"):
            found.append((line.lstrip("#").strip().lstrip("0123456789. "), []))
        elif line.startswith("|"):
            found[-1][1].append(" ".join(line.replace("--", "").split()))
        elif line.strip():
            found[-1][1].append(line)
    return _distinct(found)


def _distinct(entries: Iterable[tuple[str, list[str]]]) -> Sections:
    """Return entries as sections; headings that occur again are numbered."""
    seen: Counter[str] = Counter()
    sections: Sections = {}
    for heading, lines in entries:
        one = " ".join(heading.split())
        seen[one] += 1
        sections[one if seen[one] == 1 else f"{one} ({seen[one]})"] = [
            line.replace("\n", "⏎") for line in lines
        ]
    return sections


def _of_document(document: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    rest: list[str] = []
    for key in sorted(document):
        value = document[key]
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for number, entry in enumerate(value):
                yield f"{key} {_label(entry, number)}", list(_lines(entry, ""))
        elif isinstance(value, dict) and value:
            yield key, list(_lines(value, ""))
        else:
            rest += _lines(value, key)
    yield "others", rest


def _label(entry: Any, number: int) -> str:
    if not isinstance(entry, Mapping):
        return str(number)
    named = [str(entry[key]) for key in _LABELS if key in entry and entry[key] is not None]
    return " ".join(named) or str(number)


def _lines(value: Any, name: str) -> Iterator[str]:
    """Yield a line for each plain value, and for each list of plain values that is short."""
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _lines(value[key], f"{name}.{key}" if name else str(key))
    elif value is None or isinstance(value, str | float | int):
        yield f"{name}: {_plain(value, name)}"
    elif isinstance(value, Sequence):
        texts = [_plain(entry, name) for entry in value if _is_plain(entry)]
        is_short = sum(map(len, texts)) <= _SHORT or all(map(_is_number, value))
        if len(texts) == len(value) and is_short:
            yield f"{name}: [{', '.join(texts)}]"
        else:
            for number, entry in enumerate(value):
                yield from _lines(entry, f"{name}[{_label(entry, number)}]")
    else:
        raise TypeError(f"{name} is a {type(value).__name__}, which JSON does not have")


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | float | int)


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _plain(value: Any, name: str) -> str:
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    if any(word in name for word in _ROUGH):
        return "0" if value == 0 else f"1e{math.floor(math.log10(abs(value)))}"
    return f"{0.0 if abs(value) < _SMALLEST else value:.{_DIGITS}g}"
