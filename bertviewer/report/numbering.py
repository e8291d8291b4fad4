"""The numbers of chapters, tables and figures, by which a text refers to them."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from bertviewer.report.blocks import Block, Figure, Section, Table


class Numbered(Struct, frozen=True):
    """What something is called and its number: ``Table`` and ``3.1``."""

    noun: str
    number: str

    @property
    def text(self) -> str:
        """How it is referred to."""
        return f"{self.noun} {self.number}"


def numbers_of(chapters: Sequence[Section]) -> Mapping[str, Numbered]:
    """Return the number of every chapter and section, table and figure that has a name.

    Tables and figures are numbered by chapter, each kind by itself.

    Raises:
        ValueError: two of them have the same name.
    """
    found: dict[str, Numbered] = {}
    for chapter, number, section in _numbered(chapters):
        counts = {"Table": 0, "Figure": 0}
        _put(found, section.name, Numbered("Section" if "." in number else "Chapter", number))
        for block in _blocks(section) if section is chapter else ():
            noun = type(block).__name__
            if not isinstance(block, Table | Figure) or not block.name:
                continue
            counts[noun] += 1
            _put(found, block.name, Numbered(noun, f"{number}.{counts[noun]}"))
    return found


def _put(found: dict[str, Numbered], name: str, what: Numbered) -> None:
    if name in found:
        raise ValueError(f"two things of the report are called {name}")
    found[name] = what


def _numbered(
    sections: Sequence[Section], before: str = "", chapter: Section | None = None
) -> Iterator[tuple[Section, str, Section]]:
    """Yield the chapter, the number and the section itself, in order."""
    for place, section in enumerate(sections, 1):
        number = f"{before}{place}"
        yield chapter or section, number, section
        yield from _numbered(section.sections, f"{number}.", chapter or section)


def _blocks(section: Section) -> Iterator[Block]:
    yield from section.blocks
    for inner in section.sections:
        yield from _blocks(inner)
