"""The command line that makes a report again."""

import shlex
from collections.abc import Iterator

from bertviewer.core.run.device import CPU
from bertviewer.report.choices import PAPERS, Choices
from bertviewer.ui.recent import opened_name
from bertviewer.ui.report.material import STATISTIC, Material


def command_of(
    material: Material, choices: Choices, layers: tuple[int, ...] | None, file: str
) -> str:
    """Return it, "" where no command makes the same."""
    run = material.run
    if material.source.kind == "runs" or material.comparison is not None:
        return ""
    if run is not None and (
        material.is_from_file
        or material.other is not None
        or material.statistic != STATISTIC
        or run.sentence.cut
        or run.device != CPU
    ):
        return ""
    return shlex.join(_words(material, choices, layers, file))


def _words(
    material: Material, choices: Choices, layers: tuple[int, ...] | None, file: str
) -> Iterator[str]:
    source, run = material.source, material.run
    name = opened_name(source)
    # A folder may be called as an option is.
    yield from ("bertviewer", "report", f"./{name}" if name.startswith("-") else name)
    yield from ("-o", file if not file.startswith("-") else f"./{file}")
    if source.task.name != "base":
        yield from ("--task", source.task.name)
    if source.pickle_allowed:
        yield "--allow-pickle"
    if run is not None:
        yield f"--sentence={run.sentence.text}"
        if run.sentence.pair is not None:
            yield f"--pair={run.sentence.pair}"
        if run.source.weights != "pretrained":
            yield "--random-weights"
        if material.check is not None:
            yield "--check"
    if choices.sections is not None:
        yield f"--sections={','.join(choices.sections)}"
    if layers is not None:
        yield f"--layers={','.join(map(str, layers))}"
    if choices.paper != PAPERS[0]:
        yield f"--paper={choices.paper}"
    for option, text in (("title", choices.title), ("author", choices.author)):
        if text:
            yield f"--{option}={text}"
    if choices.is_grey:
        yield "--grey"
