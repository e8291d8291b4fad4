"""What learners ask, as blocks of a report, and the works that it is said after."""

from collections.abc import Sequence

from msgspec.structs import replace

from bertviewer.core.analysis.attention_maps import AttentionMaps
from bertviewer.core.explain import explanation
from bertviewer.core.explain.answers import answers_for_section
from bertviewer.core.explain.bibliography import bibliography
from bertviewer.report.blocks import Answer, Bibliography, Entry, Section, words_of
from bertviewer.report.subject import Subject


def answers(
    subject: Subject, *sections: explanation.Section, maps: AttentionMaps | None = None
) -> tuple[Answer, ...]:
    """Return what is asked in these parts of a report and true of this model and run."""
    return tuple(
        Answer(found.question, found.text, found.measured, found.source)
        for section in sections
        for found in answers_for_section(section, subject.architecture, subject.run, maps=maps)
    )


def each_said_once(sections: Sequence[Section]) -> tuple[Section, ...]:
    """Return the sections with each question where it is asked first."""
    asked: set[str] = set()

    def once(section: Section) -> Section:
        blocks = []
        for block in section.blocks:
            if isinstance(block, Answer):
                if block.question in asked:
                    continue
                asked.add(block.question)
            blocks.append(block)
        return replace(section, blocks=tuple(blocks), sections=tuple(map(once, section.sections)))

    return tuple(map(once, sections))


def works(sections: Sequence[Section]) -> Section | None:
    """Return the bibliography of what these sections cite; ``None`` where they cite nothing."""
    found = bibliography(words_of(tuple(sections)))
    if not found:
        return None
    entries = tuple(Entry(one.key, one.text, _link(one.arxiv, one.doi)) for one in found)
    return Section("bibliography", "Bibliography", (Bibliography(entries),))


def _link(arxiv: str, doi: str) -> str:
    if doi:
        return f"https://doi.org/{doi}"
    return f"https://arxiv.org/abs/{arxiv}" if arxiv else ""
