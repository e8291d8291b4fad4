"""The commands that need no window. Nothing here imports torch or Qt until one needs it."""

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bertviewer.cli import formats
from bertviewer.cli.printing import check_takes_bytes, print_text
from bertviewer.cli.progress_line import progress_line
from bertviewer.core.activations.activation_run import ActivationRun, Sentence
from bertviewer.core.activations.text import check_text, optional_sentence
from bertviewer.core.errors import UserError
from bertviewer.core.pickles.consent import refusal_of
from bertviewer.core.progress import Progress
from bertviewer.core.saving.files import check_writable
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.source.parsing import parse_source
from bertviewer.core.source.presets import PRESETS

if TYPE_CHECKING:
    from bertviewer.core.comparing.comparison import Comparison
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.run.capture import Capture
    from bertviewer.report.choices import Choices
    from bertviewer.report.subject import Subject


def execute(options: argparse.Namespace) -> None:
    """Carry out a command that needs no window; its result goes to stdout.

    Raises:
        UserError: something that the user can mend.
    """
    _COMMANDS[options.command](options)


def _presets(_options: argparse.Namespace) -> None:
    width = max(len(preset.name) for preset in PRESETS)
    print_text("\n".join(f"{preset.name:<{width}}  {preset.description}" for preset in PRESETS))


def _source(options: argparse.Namespace, name: str) -> ModelSource:
    """Return the model of that name, once a pickle is agreed to."""
    source = parse_source(name, options.task)
    if source.kind == "pickle" and not options.allow_pickle:
        raise UserError(refusal_of(source))
    return replace(source, pickle_allowed=options.allow_pickle)


def _summary(options: argparse.Namespace) -> None:
    form = formats.chosen(formats.SUMMARY, options)
    source = _source(options, options.model)
    with _progress() as progress:
        from bertviewer.core.loading.opening import open_model

        model = open_model(source, progress)
        if form.needs_formulas:
            model.with_formulas(progress)
    form.write(model, options)


def _run(options: argparse.Namespace) -> None:
    source = _source(options, options.model)
    sentence = Sentence(options.text, options.pair)
    check_text(sentence)
    with _progress() as progress:
        from bertviewer.core.loading.opening import open_model

        run = _run_sentence(open_model(source, progress), sentence, options, progress)
    formats.chosen(formats.RUN, options).write(run, options)


def _run_sentence(
    model: "LoadedModel",
    sentence: Sentence,
    options: argparse.Namespace,
    progress: Progress,
    kept: "Capture | None" = None,
) -> ActivationRun:
    """Run a sentence, and check the run if that was asked for; ``kept`` gets what it took."""
    model.check_weights(options.random_weights)
    model.prepare_tokenizer()
    from bertviewer.core.run.running import run_sentence

    if kept is None and options.check:
        from bertviewer.core.run.capture import Capture

        # Nothing else runs in this process: all of the run may be kept.
        kept = Capture()
    run = run_sentence(
        model, sentence, progress, random_weights=options.random_weights, capture=kept
    )
    if not options.check or kept is None:
        return run
    from bertviewer.core.checking.check import check_run

    return replace(run, check=check_run(model, kept, progress=progress))


def _compare(options: argparse.Namespace) -> None:
    left, right = (_source(options, name) for name in (options.left, options.right))
    with _progress() as progress:
        from bertviewer.core.loading.opening import open_model

        comparison = _comparison(open_model(left, progress), right, progress)
    formats.chosen(formats.COMPARISON, options).write(comparison, options)


def _flow(options: argparse.Namespace) -> None:
    form = formats.chosen(formats.FLOW, options)
    if form.is_binary:
        check_takes_bytes()
    source = _source(options, options.model)
    with _progress() as progress:
        from bertviewer.core.loading.opening import open_model
        from bertviewer.report.flow_text import check_path, flow_of

        model = open_model(source, progress)
        nodes = {node.path: node for node in model.architecture.modules}
        check_path(options.path, nodes, source.name)
        # The letters of shapes take as long as all formulas.
        found = model.with_formulas if form.needs_formulas else model.with_flows
        architecture = found(progress)
    form.write((flow_of(architecture, options.path), architecture), options)


def _report(options: argparse.Namespace) -> None:
    source = _source(options, options.model)
    sentence = optional_sentence(options.sentence, options.pair)
    if options.check and sentence is None:
        raise UserError("--check needs --sentence: what a run gave is what is checked")

    from bertviewer.report.formats.formats import format_of
    from bertviewer.report.formats.saving import check_report

    check_writable(options.output, [source])
    form = format_of(options.output, options.format)
    check_report(options.output, form, [source])

    choices = _choices(options)
    right = None if options.compare is None else _source(options, options.compare)

    # Everything that can be refused at once has been, before the seconds that torch takes.
    with _progress() as progress:
        from bertviewer.core.loading.opening import open_model
        from bertviewer.report.looking import origin_of_model
        from bertviewer.report.subject import Subject
        from bertviewer.report.writing import write_report

        model = open_model(source, progress)
        subject = Subject(model.architecture)
        if sentence is not None:
            subject = _run_of(model, sentence, options, progress)
        subject = replace(
            subject,
            architecture=model.with_formulas(progress),
            keys=model.keys,
            origin=origin_of_model(model, progress),
            comparison=None if right is None else _comparison(model, right, progress),
            layers=options.layers,
        )
        progress(0, 0, "Writing the report")
        write_report(options.output, subject, form, choices, [model.source])


def _comparison(model: "LoadedModel", right: ModelSource, progress: Progress) -> "Comparison":
    """Compare the model with another one."""
    from bertviewer.core.closer_look.comparing import compare_models
    from bertviewer.core.loading.opening import open_model

    return compare_models(model, open_model(right, progress), progress)


def _choices(options: argparse.Namespace) -> "Choices":
    """Return what was chosen of a report.

    Raises:
        UserError: there is no such section.
    """
    from bertviewer.report.choices import Choices, today
    from bertviewer.report.contents import chosen

    if options.sections is not None:
        chosen(options.sections)
    return Choices(
        options.sections,
        options.paper,
        options.title,
        options.author,
        options.grey,
        today(),
        # The same report in another folder has the same bytes.
        shlex.join(["bertviewer", *sys.argv[1:]]).replace(str(options.output), options.output.name),
    )


def _run_of(
    model: "LoadedModel", sentence: Sentence, options: argparse.Namespace, progress: Progress
) -> "Subject":
    """Run a sentence, look at it as the report does, and check it if that was asked for."""
    from bertviewer.core.run.capture import Capture
    from bertviewer.report.looking import looked_at
    from bertviewer.report.subject import Subject

    kept = Capture()
    run = _run_sentence(model, sentence, options, progress, kept)
    return Subject(model.architecture, run, looks=looked_at(model, run, kept, progress))


@contextmanager
def _progress() -> Iterator[Progress]:
    """Tell of a command's progress where somebody looks on."""
    with progress_line(sys.stderr) as progress:
        yield progress


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "summary": _summary,
    "run": _run,
    "report": _report,
    "compare": _compare,
    "flow": _flow,
    "presets": _presets,
}
