"""The commands without a window, on top of the Python API.

torch and Qt are imported only by the commands that need them.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bertviewer.cli import corpus, formats
from bertviewer.cli.printing import check_takes_bytes, print_text
from bertviewer.cli.progress_line import progress_line
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tokenization.sentence import check_text, optional_sentence
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress

if TYPE_CHECKING:
    from bertviewer.api.model import Model
    from bertviewer.api.run import Run


def execute(options: argparse.Namespace) -> None:
    """Run a command without a window; its result goes to stdout.

    Raises:
        UserError: an error that the user can fix.
    """
    from bertviewer.api.drawing import drawing_here

    with drawing_here():
        _COMMANDS[options.command](options)


def _presets(_options: argparse.Namespace) -> None:
    from bertviewer.core.sources.presets import PRESETS

    width = max(len(preset.name) for preset in PRESETS)
    lines = (f"{preset.name:<{width}}  {preset.description}; no weights" for preset in PRESETS)
    print_text("\n".join(lines))


def _source(options: argparse.Namespace, name: str) -> ModelSource:
    from bertviewer.api.opening import source_of

    source = source_of(name, options.task, options.allow_pickle)
    return replace(source, offload=getattr(options, "offload", False))


def _opened(source: ModelSource, progress: Progress) -> "Model":
    from bertviewer.api.opening import opened

    return opened(source, progress)


def _summary(options: argparse.Namespace) -> None:
    form = formats.chosen(formats.SUMMARY, options)
    source = _source(options, options.model)
    with progress_line(sys.stderr) as progress:
        model = _opened(source, progress)
        result = form.result(model, options)
    form.write(result)


def _run(options: argparse.Namespace) -> None:
    source = _source(options, options.model)
    sentence = Sentence(options.text, options.pair)
    check_text(sentence)
    with progress_line(sys.stderr) as progress:
        run = _run_sentence(_opened(source, progress), sentence, options)
    form = formats.chosen(formats.RUN, options)
    form.write(form.result(run, options))


def _run_sentence(model: "Model", sentence: Sentence, options: argparse.Namespace) -> "Run":
    """Run a sentence with the options of ``run`` and ``report``."""
    return model.run(
        sentence.text,
        sentence.pair,
        random_weights=options.random_weights,
        device=options.device,
        cut=options.cut,
        check=options.check,
    )


def _corpus(options: argparse.Namespace) -> None:
    corpus.run_corpus(_source(options, options.model), options)


def _compare(options: argparse.Namespace) -> None:
    from bertviewer.api.opening import compare

    with progress_line(sys.stderr) as progress:
        comparison = compare(
            options.left, options.right, options.task, options.allow_pickle, progress=progress
        )
    form = formats.chosen(formats.COMPARISON, options)
    form.write(form.result(comparison, options))


def _flow(options: argparse.Namespace) -> None:
    form = formats.chosen(formats.FLOW, options)
    if form.is_binary:
        check_takes_bytes()
    source = _source(options, options.model)
    with progress_line(sys.stderr) as progress:
        result = form.result(_opened(source, progress), options)
    form.write(result)


def _report(options: argparse.Namespace) -> None:
    source = _source(options, options.model)
    sentence = optional_sentence(options.sentence, options.pair)
    _check_report_options(options, source, sentence)
    from bertviewer.api.reporting import plan_report, write_report
    from bertviewer.report.options import Options

    chosen = {name: getattr(options, name) for name in Options.__struct_fields__}
    plan = plan_report(options.output, source, Options(**chosen))
    others = {
        name: _source(options, model)
        for name in ("compare", "compare_from", "against_model", "against_saved", "against_saved_a")
        if (model := getattr(options, name)) is not None
    }
    # Errors are reported before torch is imported, which takes seconds.
    from bertviewer.api.opening import opened_like

    with progress_line(sys.stderr) as progress:
        model = _opened(source, progress)
        opened = {name: opened_like(other, model, progress) for name, other in others.items()}
        against = _baseline(model, opened, options)
        run = None
        if sentence is not None:
            run = _run_sentence(model, sentence, options)
            for path in options.check_module:
                run.check(path)
        elif source.kind == "runs":
            run, _ = model.saved_runs()
        left, right = (
            opened[name].loaded if name in opened else None for name in ("compare_from", "compare")
        )
        write_report(plan, model.loaded, run, against, left=left, right=right, progress=progress)


def _check_report_options(
    options: argparse.Namespace, source: ModelSource, sentence: Sentence | None
) -> None:
    """Check the combination of options.

    Raises:
        UserError: they contradict each other.
    """
    if sentence is None and (options.check or options.check_module):
        raise UserError("--check needs --sentence: only the outputs of a run can be verified")
    baselines = (options.against, options.against_saved, options.against_saved_a)
    given = sum(each is not None for each in baselines)
    if given > 1:
        raise UserError("there is only one baseline: give either --against or --against-saved")
    if given and sentence is None and source.kind != "runs":
        raise UserError("--against needs --sentence: the run to compare with the baseline")
    further = options.against_pair, options.against_model, options.against_device
    if options.against is None and any(each is not None for each in further):
        raise UserError(
            "--against-pair, --against-model and --against-device need --against, the sentence "
            "of the baseline"
        )
    if options.compare is not None and options.compare_from is not None:
        raise UserError("give either --compare or --compare-from")


def _baseline(
    model: "Model", opened: "Mapping[str, Model]", options: argparse.Namespace
) -> "Run | None":
    """Return run A, the baseline of a report."""
    if "against_saved" in opened:
        return opened["against_saved"].saved_runs()[0]
    if "against_saved_a" in opened:
        run_a = opened["against_saved_a"].saved_runs()[1]
        if run_a is None:
            raise UserError(f"{options.against_saved_a}: the file contains no run A")
        return run_a
    if options.against is None:
        return None
    sentence = Sentence(options.against, options.against_pair)
    return opened.get("against_model", model).run(
        sentence.text,
        sentence.pair,
        random_weights=options.random_weights,
        device=options.against_device or options.device,
        cut=options.cut,
    )


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "summary": _summary,
    "run": _run,
    "report": _report,
    "compare": _compare,
    "flow": _flow,
    corpus.CORPUS: _corpus,
    corpus.MERGE: corpus.merge,
    "presets": _presets,
}
