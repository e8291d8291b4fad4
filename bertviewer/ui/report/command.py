"""The command line that makes a report again."""

import shlex
from collections.abc import Iterator

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.run.device import CPU
from bertviewer.report.choices import PAPERS, Choices
from bertviewer.ui.recent import opened_name
from bertviewer.ui.report.material import STATISTIC, Material


def command_of(
    material: Material, choices: Choices, layers: tuple[int, ...] | None, file: str
) -> str:
    """Return it, "" where no command makes the same."""
    run = material.run
    compared = material.comparison
    if material.source.kind == "runs":
        return ""
    if compared is not None and compared.left.name != material.source.name:
        return ""  # it is measured from the other one
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
    source, compared = material.source, material.comparison
    # A folder may be called as an option is.
    yield from ("bertviewer", "report", _no_option(opened_name(source)), "-o", _no_option(file))
    if source.task.name != "base":
        yield from ("--task", source.task.name)
    if source.pickle_allowed or (compared is not None and compared.right.kind == "pickle"):
        yield "--allow-pickle"
    if material.run is not None:
        yield from _of_run(material.run, is_checked=material.check is not None)
    if compared is not None:
        yield f"--compare={opened_name(compared.right)}"
    yield from _of_choices(choices, layers)


def _of_run(run: ActivationRun, *, is_checked: bool) -> Iterator[str]:
    yield f"--sentence={run.sentence.text}"
    if run.sentence.pair is not None:
        yield f"--pair={run.sentence.pair}"
    if run.source.weights != "pretrained":
        yield "--random-weights"
    if is_checked:
        yield "--check"


def _of_choices(choices: Choices, layers: tuple[int, ...] | None) -> Iterator[str]:
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


def _no_option(name: str) -> str:
    return f"./{name}" if name.startswith("-") else name
