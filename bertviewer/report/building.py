"""A report's document, built from what it is about and what was chosen."""

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from msgspec import Struct
from msgspec.structs import replace

from bertviewer import __version__
from bertviewer.core.analysis.costs import outline_of
from bertviewer.core.schema.source_info import SEED
from bertviewer.core.sources.model_source import find_task
from bertviewer.report.answers import each_said_once, works
from bertviewer.report.blocks import Code, Section, Text
from bertviewer.report.choices import Choices
from bertviewer.report.contents import BIBLIOGRAPHY, CHAPTERS, chosen
from bertviewer.report.document import Front, ReportDocument
from bertviewer.report.pictures import Picture
from bertviewer.report.random_words import random_words
from bertviewer.report.subject import Subject
from bertviewer.report.summaries import provenance

STACK = "stack"
LIBRARIES = ("torch", "transformers", "tokenizers", "typst")


class Draft(Struct, frozen=True, eq=False):
    """A document whose pictures are still to be drawn: charts and flows by name."""

    front: Front
    chapters: tuple[Section, ...]
    pictures: Mapping[str, Picture]

    def with_pictures(self, drawings: Mapping[str, str]) -> ReportDocument:
        """Return the document with its pictures as SVG."""
        return ReportDocument(self.front, self.chapters, drawings)


def build_document(subject: Subject, choices: Choices) -> Draft:
    """Gather what is to be told; chapters that have nothing to tell are left out.

    Raises:
        UserError: a chapter was chosen that there is not.
    """
    known = CHAPTERS if choices.sections is None else chosen(choices.sections)
    drafts = [draft for chapter in known if (draft := chapter.draft(subject)) is not None]
    pictures = {name: found for draft in drafts for name, found in draft.pictures.items()}
    outline = outline_of(subject.architecture)
    if outline is not None:
        pictures[STACK] = Picture(outline, 150, 190)
    sections = each_said_once([draft.section for draft in drafts])
    # What is cited is known when all else is written.
    if any(chapter.name == BIBLIOGRAPHY for chapter in known) and (last := works(sections)):
        sections = (*sections, last)
    front = _front(subject, choices, "" if outline is None else STACK)
    return Draft(front, sections, pictures)


def _front(subject: Subject, choices: Choices, picture: str) -> Front:
    architecture = subject.architecture
    source = architecture.source if subject.run is None else subject.run.source
    is_run = subject.run is not None
    shown = source if is_run else replace(source, weights="none", random_tensors=())
    random = random_words(shown, architecture.tensor_count)
    return Front(
        title=choices.title or source.name,
        subtitle=f"{architecture.root.class_name} · {find_task(source.task).title}",
        author=choices.author,
        date=choices.date,
        facts=tuple(_facts(subject, choices)),
        warning="" if random is None else random.text,
        running_warning="" if random is None else random.short,
        picture=picture,
        program=f"bertviewer {__version__}",
    )


def _facts(subject: Subject, choices: Choices) -> Iterator[tuple[str, Text]]:
    yield "Model", (provenance(subject.architecture.source),)
    for name, digest in subject.origin.digests:
        yield "SHA-256", (Code(digest), f" {name}")
    if subject.origin.licence:
        yield "Licence", (subject.origin.licence,)
    yield "Dtype", (_dtypes(subject),)
    source = subject.architecture.source if subject.run is None else subject.run.source
    if source.weights == "random" or source.random_tensors:
        yield "Seed", (str(SEED),)
    if subject.run is not None:
        yield "Device", (subject.run.device,)
    yield "Versions", (", ".join(f"{name} {_version(name)}" for name in LIBRARIES),)
    if choices.command:
        yield "Command", (Code(choices.command),)


def _dtypes(subject: Subject) -> str:
    """Return what the weights are computed in, and what they are stored as if that is another."""
    found = ", ".join(sorted({tensor.dtype for tensor in subject.architecture.parameters}))
    if subject.keys is None:
        return found
    stored = ", ".join(subject.keys.stored_dtypes)
    computed = subject.keys.dtype
    return computed if stored == computed else f"{computed}, stored as {stored}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(unknown version)"
