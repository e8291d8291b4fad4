"""Drafts a report: its title, the chapters that apply, reproducibility and bibliography."""

from collections.abc import Iterator, Mapping
from datetime import date
from importlib.metadata import PackageNotFoundError, version

from msgspec import Struct
from msgspec.structs import replace

from bertviewer import __version__
from bertviewer.core.analysis.costs import outline_of
from bertviewer.core.explain.bibliography import Reference, bibliography, model_reference
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SEED
from bertviewer.core.sources.model_source import find_task
from bertviewer.report.blocks import (
    Bibliography,
    Block,
    Code,
    Entry,
    Facts,
    Listing,
    Paragraph,
    Section,
    Text,
    strings_in,
)
from bertviewer.report.catalogue import BIBLIOGRAPHY, REPRODUCIBILITY, chosen_chapters
from bertviewer.report.document import Front, ReportDocument
from bertviewer.report.options import APPENDICES, Options
from bertviewer.report.pictures import Picture
from bertviewer.report.subject import Subject
from bertviewer.report.summary import provenance, random_weights_warning

STACK = "stack"
LIBRARIES = ("torch", "transformers", "tokenizers", "typst")


class ReportDraft(Struct, frozen=True, eq=False):
    """A document whose pictures are not drawn yet."""

    front: Front
    chapters: tuple[Section, ...]
    pictures: Mapping[str, Picture]

    def with_drawings(self, drawings: Mapping[str, str]) -> ReportDocument:
        """Return the document with its pictures as SVG."""
        return ReportDocument(self.front, self.chapters, drawings)


def draft_report(subject: Subject, options: Options, day: date, command: str = "") -> ReportDraft:
    """Draft the chosen chapters; those that do not apply are left out.

    Args:
        subject: the data of the chapters.
        options: the user's choices.
        day: date of the report.
        command: command that writes the report again.

    Raises:
        UserError: there is no such chapter.
    """
    chosen = chosen_chapters(options.sections, subject.run)
    is_folded = options.appendix == APPENDICES[0]
    subject = replace(subject, sections=options.sections, is_folded=is_folded)
    drafts = {chapter: found for chapter in chosen if (found := chapter.draft(subject)) is not None}
    pictures = {name: found for each in drafts.values() for name, found in each.pictures.items()}
    outline = outline_of(subject.architecture)
    if outline is not None:
        pictures[STACK] = Picture(outline, 150, 80)
    front = _front(subject, options, day, command, "" if outline is None else STACK)
    sections = tuple(
        replace(draft.section, numbering=chapter.numbering) for chapter, draft in drafts.items()
    )
    for chapter in chosen:
        if chapter.name == REPRODUCIBILITY:
            last = _reproducibility(subject, command)
        elif chapter.name == BIBLIOGRAPHY:
            last = _bibliography(sections, subject)
        else:
            continue
        sections = (*sections, replace(last, numbering=chapter.numbering))
    return ReportDraft(front, sections, pictures)


def _reproducibility(subject: Subject, command: str) -> Section:
    """Return the chapter on the origin of the model, the versions, and the command."""
    blocks: list[Block] = [Facts(tuple(_facts(subject)))]
    if command:
        blocks += [Paragraph.of("This command writes the report again:"), Listing((command,))]
    return Section(REPRODUCIBILITY, "Reproducibility", tuple(blocks))


def _bibliography(sections: tuple[Section, ...], subject: Subject) -> Section:
    """Return the bibliography: the works that these sections cite, the model and the software."""
    origin = subject.origin.base_model or str(subject.architecture.config.get("_name_or_path", ""))
    model = model_reference(subject.architecture.source, origin)
    works = bibliography(strings_in(sections), () if model is None else (model,))
    return Section(BIBLIOGRAPHY, "Bibliography", (Bibliography(tuple(map(_entry, works))),))


def _entry(work: Reference) -> Entry:
    used = f" Version {_version(work.package)}." if work.package else ""
    return Entry(work.key, f"{work.text}{used}", work.link)


def _front(subject: Subject, options: Options, day: date, command: str, picture: str) -> Front:
    architecture, run = subject.architecture, subject.run
    source = architecture.source if run is None else run.source
    # Without a run, no figure depends on random weights.
    shown = replace(source, weights="none", random_tensors=()) if run is None else source
    warning = random_weights_warning(shown, architecture.tensor_count)
    subtitle = f"{architecture.root.class_name} · {find_task(source.task).title}"
    contents = "parameters, computational cost and forward pass"
    return Front(
        title=options.title or source.name,
        subtitle=subtitle,
        author=options.author,
        date=day,
        facts=(*_facts(subject), *([("Command", (Code(command),))] if command else ())),
        warning="" if warning is None else warning.text,
        running_warning="" if warning is None else warning.short,
        picture=picture,
        program=f"bertviewer {__version__}",
        subject=f"{subtitle}: {contents}" + (", with one sentence" if run is not None else ""),
        keywords=tuple(_keywords(architecture)),
    )


def _keywords(architecture: Architecture) -> Iterator[str]:
    yield architecture.root.class_name
    if isinstance(kind := architecture.config.get("model_type"), str):
        yield kind
    yield find_task(architecture.source.task).title
    yield from ("transformers", "parameter count", "multiply-adds")


def _facts(subject: Subject) -> Iterator[tuple[str, Text]]:
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
    versions = (f"{name} {_version(name)}" for name in LIBRARIES)
    yield "Versions", (", ".join((f"bertviewer {__version__}", *versions)),)


def _dtypes(subject: Subject) -> str:
    """Return the weights' dtype, and the one they are stored in if that is another."""
    report = subject.load_report
    if report is None:
        return ", ".join(sorted({tensor.dtype for tensor in subject.architecture.parameters}))
    stored = ", ".join(report.stored_dtypes)
    return report.dtype if stored == report.dtype else f"{report.dtype}, stored as {stored}"


def _version(package: str) -> str:
    try:
        return __version__ if package == "bertviewer" else version(package)
    except PackageNotFoundError:
        return "(unknown version)"
