"""The commands that need no window. Nothing here imports torch or Qt until one needs it."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bertviewer.cli.printing import check_takes_bytes, print_bytes, print_json, print_text
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
from bertviewer.report import formats
from bertviewer.report.comparison_text import comparison_text
from bertviewer.report.key_report import key_lines

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel


def execute(options: argparse.Namespace) -> None:
    """Carry out a command that needs no window; its result goes to stdout.

    Raises:
        UserError: something that the user can mend.
    """
    if options.command == "presets":
        width = max(len(preset.name) for preset in PRESETS)
        print_text("\n".join(f"{preset.name:<{width}}  {preset.description}" for preset in PRESETS))
    elif options.command == "summary":
        _summary(options)
    elif options.command == "run":
        _run(options)
    elif options.command == "compare":
        _compare(options)
    elif options.command == "flow":
        _flow(options)
    else:
        _report(options)


def _source(options: argparse.Namespace, name: str) -> ModelSource:
    """Return the model of that name, once a pickle is agreed to."""
    source = parse_source(name, options.task)
    if source.kind == "pickle" and not options.allow_pickle:
        raise UserError(refusal_of(source))
    return replace(source, pickle_allowed=options.allow_pickle)


def _summary(options: argparse.Namespace) -> None:
    source = _source(options, options.model)
    with _progress() as progress:
        from bertviewer.core.loading.opening import open_model

        model = open_model(source, progress)
        if options.format == "json":
            # The counting formulas of a new model take a second to derive, and only this format
            # shows them.
            model.with_formulas(progress)
    if options.format == "json":
        document = model.architecture.to_json()
        if options.depth is not None:
            document["modules"] = [m for m in document["modules"] if m["depth"] <= options.depth]
        document["checkpoint"] = None if model.keys is None else model.keys.to_json()
        print_json(document)
        return
    write = {"text": formats.text, "csv": formats.csv, "markdown": formats.markdown}
    result = write[options.format](model.architecture, options.depth, options.parameters)
    if options.format == "text" and model.keys is not None:
        result = "\n".join((result, "", *key_lines(model.keys)))
    print_text(result)


def _run(options: argparse.Namespace) -> None:
    source = _source(options, options.model)
    sentence = Sentence(options.text, options.pair)
    check_text(sentence)
    with _progress() as progress:
        from bertviewer.core.loading.opening import open_model

        run = _run_sentence(open_model(source, progress), sentence, options, progress)
    if options.format == "json":
        print_json(run.to_json())
    else:
        print_text(formats.run_text(run))


def _run_sentence(
    model: "LoadedModel", sentence: Sentence, options: argparse.Namespace, progress: Progress
) -> ActivationRun:
    """Run a sentence, and check the run if that was asked for."""
    model.check_weights(options.random_weights)
    model.prepare_tokenizer()
    from bertviewer.core.run.running import run_sentence

    if not options.check:
        return run_sentence(model, sentence, options.random_weights, progress)

    from bertviewer.core.checking.check import check_run
    from bertviewer.core.run.capture import Capture

    # Nothing else runs in this process: all of the run may be kept.
    capture = Capture()
    run = run_sentence(model, sentence, options.random_weights, progress, capture=capture)
    return replace(run, check=check_run(model, capture, progress=progress))


def _compare(options: argparse.Namespace) -> None:
    left, right = (_source(options, name) for name in (options.left, options.right))
    with _progress() as progress:
        from bertviewer.core.closer_look.comparing import compare_models
        from bertviewer.core.loading.opening import open_model

        models = open_model(left, progress), open_model(right, progress)
        comparison = compare_models(*models, progress)
    if options.format == "json":
        print_json(comparison.to_json())
    else:
        print_text(comparison_text(comparison))


def _flow(options: argparse.Namespace) -> None:
    if options.format == "pdf":
        check_takes_bytes()
    source = _source(options, options.model)
    with _progress() as progress:
        from bertviewer.core.loading.opening import open_model
        from bertviewer.report.flow_text import check_path, flow_of, flow_text

        model = open_model(source, progress)
        nodes = {node.path: node for node in model.architecture.modules}
        check_path(options.path, nodes, source.name)
        # The letters of shapes take as long as all formulas, and only this format shows them.
        found = model.with_formulas if options.format == "json" else model.with_flows
        architecture = found(progress)
    flow = flow_of(architecture, options.path)
    if options.format == "json":
        print_json(flow.to_json(architecture.source))
    elif options.format == "text":
        print_text(flow_text(flow, architecture))
    elif options.format == "dot":
        from bertviewer.charts.flow.dot import dot_of

        print_text(dot_of(flow))
    else:
        from bertviewer.report.flow_drawing import flow_pdf, flow_svg

        if options.format == "svg":
            print_text(flow_svg(flow, architecture))
        else:
            print_bytes(flow_pdf(flow, architecture))


def _report(options: argparse.Namespace) -> None:
    source = _source(options, options.model)
    sentence = optional_sentence(options.sentence, options.pair)
    if options.check and sentence is None:
        raise UserError("--check needs --sentence: what a run gave is what is checked")

    check_writable(options.output, [source])

    # Everything that can be refused at once has been, before the seconds that torch takes.
    with _progress() as progress:
        from bertviewer.core.loading.opening import open_model
        from bertviewer.report.pdf import write_report

        model = open_model(source, progress)
        run = None if sentence is None else _run_sentence(model, sentence, options, progress)
        architecture = model.with_formulas(progress)
        progress(0, 0, "Writing the report")
        write_report(options.output, architecture, run, [model.source])


@contextmanager
def _progress() -> Iterator[Progress]:
    """Tell of a command's progress where somebody looks on."""
    with progress_line(sys.stderr) as progress:
        yield progress
