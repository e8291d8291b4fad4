"""Makes the records of one model."""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.golden import doors
from tests.golden.models import Example
from tests.golden.texts import (
    Sections,
    document_sections,
    facts_sections,
    markdown_sections,
)

if TYPE_CHECKING:
    import bertviewer

_CLASSES = 10
"""So many classes at most have the flow of their first module recorded."""
_OF_THE_MACHINE = re.compile(r"^(- Versions: .*|\d+ \w+ 20\d\d|.*bertviewer \d+\.\d+.*)$")


class Opened:
    """A model, opened and run once for all kinds of records."""

    def __init__(self, example: Example) -> None:
        self.example = example

    @cached_property
    def model(self) -> "bertviewer.Model":
        return doors.open_model(self.example.source, self.example.task)

    @cached_property
    def run(self) -> "bertviewer.Run":
        return doors.run(self.model, self.example.sentence, self.example.pair)

    def record(self, kind: str) -> Sections:
        """Return a record; the error that stopped it, if one did."""
        try:
            return _MAKERS[kind](self)
        except Exception as error:  # noqa: BLE001 - any kind of error is a finding
            return {"error": [f"{type(error).__name__}: {' '.join(str(error).split())}"]}


def compared(left: str, right: str) -> Sections:
    """Return the record of a comparison; the error that stopped it, if one did."""
    try:
        return document_sections(doors.compare(left, right))
    except Exception as error:  # noqa: BLE001 - likewise
        return {"error": [f"{type(error).__name__}: {' '.join(str(error).split())}"]}


def _summary(opened: Opened) -> Sections:
    document = doors.summary(opened.model)
    document.pop("compute", None)  # a kind of its own
    return document_sections(document)


def _costs(opened: Opened) -> Sections:
    return document_sections(doors.summary(opened.model).get("compute") or {})


def _flow(opened: Opened) -> Sections:
    firsts: dict[str, str] = {}
    for path, kind in doors.modules(opened.model):
        if len(firsts) < _CLASSES and kind != "ModuleList":
            firsts.setdefault(kind, path)
    found: Sections = {}
    for path in firsts.values():
        heading = path or "(model)"
        try:
            sections = document_sections(doors.flow(opened.model, path))
        except Exception as error:  # noqa: BLE001 - a module that is not called has none
            sections = {"error": [str(error)]}
        found |= {f"{heading} / {name}": lines for name, lines in sections.items()}
    return found


def _run(opened: Opened) -> Sections:
    document: dict[str, Any] = opened.run.to_json()
    document.pop("seconds", None)
    return document_sections(document)


def _report(opened: Opened) -> Sections:
    with tempfile.TemporaryDirectory() as folder:
        text = doors.report(opened.model, opened.run, Path(folder))
    return markdown_sections("\n".join(_without_machine(text)))


def _without_machine(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if not _OF_THE_MACHINE.match(line))


_MAKERS: Mapping[str, Callable[[Opened], Sections]] = {
    "summary": _summary,
    "formulas": lambda opened: facts_sections(doors.module_formulas(opened.model)),
    "walkthrough": lambda opened: facts_sections(doors.walkthrough(opened.model)),
    "costs": _costs,
    "whatif": lambda opened: facts_sections(doors.what_if(opened.model)),
    "flow": _flow,
    "run": _run,
    "report": _report,
}
