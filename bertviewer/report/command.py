"""Commands that make a report or a corpus again, and the file name that a report is offered."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import fields

from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import AUTO, BASE, SCHEME, ModelSource
from bertviewer.core.sources.parsing import RUNS_SUFFIX
from bertviewer.report.formats.formats import ReportFormat, format_by_suffix
from bertviewer.report.options import APPENDICES, PAPERS, STATISTIC, Options
from bertviewer.report.subject import ReportInputs

CPU = "cpu"
MAX_NAME = 100
"""Characters of a file name without its extension."""
_MODEL_SUFFIXES = (".json", ".safetensors", ".bin", RUNS_SUFFIX)
_COMMON_STEMS = ("config", "model", "pytorch_model")


def report_command(
    inputs: ReportInputs, options: Options, layers: tuple[int, ...] | None, file: str
) -> str:
    """Return the ``bertviewer report`` command that writes the same report.

    Args:
        inputs: the model and its runs.
        options: the options of the report.
        layers: the layers that ``options`` choose; ``None`` for the first and the last.
        file: name of the report's file.
    """
    return shlex.join(_report_words(inputs, options, layers, file))


def corpus_command(
    source: ModelSource, data: Sequence[Path], folder: Path, options: CorpusOptions
) -> str:
    """Return the ``bertviewer corpus`` command for a corpus."""
    return shlex.join(_corpus_words(source, data, folder, options))


def default_file_name(source: ModelSource, form: ReportFormat) -> str:
    """Return the name of a model with the extension of a format."""
    name = source.name.removeprefix(SCHEME).rstrip("/\\").replace("\\", "/")
    if source.kind == "hub":
        name = name.partition("@")[0]
    path = Path(name)
    if path.suffix in _MODEL_SUFFIXES:
        # Many models have files of these names: the folder's name is more specific.
        is_common = path.stem in _COMMON_STEMS and path.parent.name
        path = path.parent if is_common else path.with_suffix("")
    letters = "".join(
        "-" if letter in ':*?"<>|' or not letter.isprintable() else letter for letter in path.name
    )
    return f"{letters.strip(' .')[:MAX_NAME] or 'model'}{form.suffixes[0]}"


def _report_words(
    inputs: ReportInputs, options: Options, layers: tuple[int, ...] | None, file: str
) -> Iterator[str]:
    source, comparison = inputs.source, inputs.comparison
    yield from ("bertviewer", "report", _argument(source.name), "-o", _argument(file))
    yield from _source_words(source, _allows_pickle(inputs), _is_offloaded(inputs))
    yield from _run_words(inputs)
    if comparison is not None:
        if comparison.left.name == source.name:
            yield f"--compare={comparison.right.name}"
        else:
            yield f"--compare-from={comparison.left.name}"
    if options.corpus:
        yield f"--corpus={options.corpus}"
    if options.sections is not None:
        yield f"--sections={','.join(options.sections)}"
    if layers is not None:
        yield f"--layers={','.join(map(str, layers))}"
    if options.paper != PAPERS[0]:
        yield f"--paper={options.paper}"
    words = ("appendix", options.appendix), ("title", options.title), ("author", options.author)
    for name, text in words:
        if text and (name, text) != ("appendix", APPENDICES[0]):
            yield f"--{name}={text}"
    if options.grey:
        yield "--grey"
    if options.statistic != STATISTIC:
        yield f"--statistic={options.statistic}"
    if options.format and format_by_suffix(Path(file)) is None:
        yield f"--format={options.format}"


def _source_words(source: ModelSource, allow_pickle: bool, offload: bool) -> Iterator[str]:
    # The head of these is base unless another one is asked for.
    is_default = source.kind in ("preset", "demo", "config", "runs") and source.task == BASE
    if not is_default and source.task != AUTO:
        yield from ("--task", source.task.name)
    if allow_pickle:
        yield "--allow-pickle"
    if offload:
        yield "--offload"


def _run_words(inputs: ReportInputs) -> Iterator[str]:
    """Yield the options for runs and their checks; a saved run comes with the model's file."""
    run = _made_here(inputs.run)
    made = [each.run for each in (run, _made_here(inputs.baseline)) if each is not None]
    if run is not None:
        yield from _sentence_words("sentence", "pair", run.run.sentence)
        if run.run.device != CPU:
            yield f"--device={run.run.device}"
    if any(each.source.weights != "pretrained" for each in made):
        yield "--random-weights"
    # It has no effect on a text that fits.
    if any(each.sentence.cut for each in made):
        yield "--cut"
    if run is not None:
        if inputs.is_all_checked:
            yield "--check"
        yield from (f"--check-module={path}" for path in inputs.checked)
    if inputs.baseline is not None:
        device = CPU if run is None else run.run.device
        yield from _baseline_words(inputs.baseline, inputs.source, device)


def _made_here(recorded: RecordedRun | None) -> RecordedRun | None:
    return None if recorded is None or recorded.capture is None else recorded


def _baseline_words(baseline: RecordedRun, source: ModelSource, device: str) -> Iterator[str]:
    if baseline.capture is None:
        yield f"--against-{'saved-a' if baseline.is_saved_baseline else 'saved'}={baseline.file}"
        return
    yield from _sentence_words("against", "against-pair", baseline.run.sentence)
    if baseline.model is not None and baseline.model.source.name != source.name:
        yield f"--against-model={baseline.model.source.name}"
    if baseline.run.device != device:
        yield f"--against-device={baseline.run.device}"


def _sentence_words(first: str, second: str, sentence: Sentence) -> Iterator[str]:
    yield f"--{first}={sentence.text}"
    if sentence.pair is not None:
        yield f"--{second}={sentence.pair}"


def _allows_pickle(inputs: ReportInputs) -> bool:
    """Return whether the user agreed to read a pickle of any of the models."""
    models = [inputs.source, *inputs.compared]
    if inputs.baseline is not None and inputs.baseline.model is not None:
        models.append(inputs.baseline.model.source)
    comparison = inputs.comparison
    sides = () if comparison is None else (comparison.left, comparison.right)
    return any(each.pickle_allowed or each.kind == "pickle" for each in models) or any(
        each.kind == "pickle" for each in sides
    )


def _is_offloaded(inputs: ReportInputs) -> bool:
    """Return whether the weights of any of the models are read layer by layer."""
    models = [inputs.architecture.source]
    if inputs.comparison is not None:
        models += (inputs.comparison.left, inputs.comparison.right)
    if inputs.baseline is not None and inputs.baseline.model is not None:
        models.append(inputs.baseline.model.architecture.source)
    return any(each.offloaded for each in models)


def _corpus_words(
    source: ModelSource, data: Sequence[Path], folder: Path, options: CorpusOptions
) -> Iterator[str]:
    names = (str(file) if str(file) == "-" else _argument(str(file)) for file in data)
    yield from ("bertviewer", "corpus", _argument(source.name), *names)
    yield from ("-o", _argument(str(folder)))
    yield from _source_words(source, source.pickle_allowed, source.offload)
    for field in fields(options):
        value, option = getattr(options, field.name), field.name.replace("_", "-")
        if value != field.default:
            yield f"--{option}" if value is True else f"--{option}={value}"


def _argument(name: str) -> str:
    """Return a file name that is not read as an option."""
    return f"./{name}" if name.startswith("-") else name
