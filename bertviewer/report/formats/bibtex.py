"""The bibliography of a report as BibTeX."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from bertviewer.core.explain.bibliography import Reference, references
from bertviewer.core.util.text import printable, upper_first
from bertviewer.report.blocks import Entry

_SPECIAL = {sign: f"\\{sign}" for sign in "$&#%_"} | {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}


def cite_keys(entries: Sequence[Entry]) -> Mapping[str, str]:
    """Return a BibTeX key for the key of each work: "VaswaniEtAl2017"."""
    keys: dict[str, str] = {}
    for entry in entries:
        letters = unicodedata.normalize("NFKD", entry.key).encode("ascii", "ignore").decode()
        words = re.findall("[A-Za-z0-9]+", letters)
        key = "".join(map(upper_first, words)) or "Work"
        while key in keys.values():
            key += "x"
        keys[entry.key] = key
    return keys


def bibtex_of(entries: Sequence[Entry]) -> str:
    """Return a ``.bib`` file with these works."""
    keys = cite_keys(entries)
    return "\n".join(_entry(keys[entry.key], entry) for entry in entries)


def _entry(key: str, entry: Entry) -> str:
    work = references().get(entry.key)
    fields = {} if work is None else dict(_fields(work))
    # The version of software is only in the entry.
    if note := entry.text.removeprefix("" if work is None else work.text).strip():
        fields["note"] = _words(note)
    if entry.link and not fields.keys() & {"eprint", "doi"}:
        fields["url"] = entry.link
    kind = "article" if work is not None and work.venue else "misc"
    lines = (f"  {name} = {{{value}}}," for name, value in fields.items())
    return "\n".join((f"@{kind}{{{key},", *lines, "}", ""))


def _fields(work: Reference) -> Iterator[tuple[str, str]]:
    names = work.authors.replace(" and others", ", others").split(", ")
    yield "author", " and ".join(map(_words, names))
    # Braces keep the capitals.
    yield "title", f"{{{_words(work.title)}}}"
    yield "year", str(work.year)
    if work.venue:
        yield "journal", _words(work.venue)
    if work.arxiv:
        yield from (("eprint", work.arxiv), ("archiveprefix", "arXiv"))
    if work.doi:
        yield "doi", work.doi


def _words(text: str) -> str:
    return "".join(_SPECIAL.get(sign, sign) for sign in printable(text))
