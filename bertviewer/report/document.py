"""The report as plain data, which every format is a reading of; as JSON it is a format itself."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from msgspec import Struct

from bertviewer.report.blocks import Figure, Section, See, Table, Text
from bertviewer.report.numbering import Numbered, numbers_of

SCHEMA = "bertviewer.report/1"


class Front(Struct, frozen=True):
    """The title page, and what stands on every page.

    Attributes:
        title: of the report.
        subtitle: class and task of the model.
        author: empty where none is said.
        date: the day of the report.
        facts: where the model comes from and what it was computed with.
        warning: that figures come from random weights; empty where all are trained.
        running_warning: the same in few words, for the head of every page.
        picture: the drawing of the model's stack, among the document's pictures; empty for none.
        program: name and version of the program.
    """

    title: str
    subtitle: str
    author: str
    date: date
    facts: tuple[tuple[str, Text], ...]
    warning: str
    running_warning: str
    picture: str
    program: str


class ReportDocument(Struct, frozen=True, eq=False, dict=True):
    """``pictures`` are drawings by name, each an SVG that is whole by itself."""

    front: Front
    chapters: tuple[Section, ...]
    pictures: Mapping[str, str]

    @property
    def numbers(self) -> Mapping[str, Numbered]:
        """The numbers of chapters, tables and figures by their names."""
        return numbers_of(self.chapters)

    def to_json(self) -> dict[str, Any]:
        """Return the whole document, ready for JSON.

        Every block and every span that is no plain text says in ``kind`` what it is; references
        have the ``text`` that they stand for, and tables and figures their ``number``.
        """
        numbers = self.numbers
        return {
            "schema": SCHEMA,
            "front": _data(self.front, numbers),
            "chapters": _data(self.chapters, numbers),
            "pictures": dict(self.pictures),
        }


def _data(value: object, numbers: Mapping[str, Numbered]) -> Any:
    if isinstance(value, tuple):
        return [_data(one, numbers) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, Struct):
        return value
    data = {"kind": _kind(type(value))} | {
        name: _data(getattr(value, name), numbers) for name in value.__struct_fields__
    }
    match value:
        case See(name):
            data["text"] = numbers[name].text
        case Table(name=name) | Figure(name=name) | Section(name=name) if name in numbers:
            data["number"] = numbers[name].number
    return data


def _kind(kind: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()
