"""What a report or a corpus is made of, and the command line that makes the same again."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import fields

from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.model_source import AUTO, BASE, ModelSource
from bertviewer.report.choices import PAPERS, Choices
from bertviewer.report.subject import STATISTIC

CPU = "cpu"


class SentenceRun(Struct, frozen=True):
    """A sentence that is run.

    Attributes:
        sentence: as it was typed.
        device: where it is run, as torch names it.
        is_random: whether the model's weights are drawn at random.
        model: another model that it is run through; "" for the report's own.
    """

    sentence: Sentence
    device: str = CPU
    is_random: bool = False
    model: str = ""


class SavedRun(Struct, frozen=True):
    """A run that is read from a file; ``is_a`` if it is run A of those that are in there."""

    file: str
    is_a: bool = False


class Recipe(Struct, frozen=True):
    """All that a report depends on.

    Attributes:
        model: as the command line takes it, like all models here.
        file: the name of the report's file.
        task: the head.
        allow_pickle: whether somebody agreed to read pickles.
        offload: whether weights are to be read layer by layer.
        run: what is told of a sentence; ``None`` for the model alone. A saved one is of the model's
            own file, and brings its checks along.
        run_a: the run that it is compared with.
        checks_all: whether everything is checked that the run called.
        checks: the modules that are checked.
        right: the model that this one is compared with.
        left: the model from which the way to this one is measured.
        corpus: the folder of a corpus of the model.
        layers: the layers whose heads are shown, ``None`` for a choice of some.
        statistic: what is drawn layer by layer.
        choices: how the report is to be.
        format: its name, where it had to be said; "" where the file's name says it.
    """

    model: str
    file: str
    task: str = AUTO.name
    allow_pickle: bool = False
    offload: bool = False
    run: SentenceRun | SavedRun | None = None
    run_a: SentenceRun | SavedRun | None = None
    checks_all: bool = False
    checks: tuple[str, ...] = ()
    right: str = ""
    left: str = ""
    corpus: str = ""
    layers: tuple[int, ...] | None = None
    statistic: str = STATISTIC
    choices: Choices = Choices()
    format: str = ""

    @property
    def command(self) -> str:
        """The command line that makes this report."""
        return shlex.join(self._words())

    def _words(self) -> Iterator[str]:
        # A folder may be called as an option is.
        yield from ("bertviewer", "report", _no_option(self.model), "-o", _no_option(self.file))
        yield from _of_source(self.task, self.allow_pickle, self.offload)
        yield from self._of_runs()
        if self.right:
            yield f"--compare={self.right}"
        if self.left:
            yield f"--compare-from={self.left}"
        if self.corpus:
            yield f"--corpus={self.corpus}"
        yield from _of_choices(self.choices, self.layers)
        if self.statistic != STATISTIC:
            yield f"--statistic={self.statistic}"
        if self.format:
            yield f"--format={self.format}"

    def _of_runs(self) -> Iterator[str]:
        run, run_a = self.run, self.run_a
        run_here = [each for each in (run, run_a) if isinstance(each, SentenceRun)]
        if isinstance(run, SentenceRun):
            yield from _texts("sentence", "pair", run.sentence)
            if run.device != CPU:
                yield f"--device={run.device}"
        if any(each.is_random for each in run_here):
            yield "--random-weights"
        # What fits is not cut.
        if any(each.sentence.cut for each in run_here):
            yield "--cut"
        if isinstance(run, SentenceRun):
            yield from self._of_checks()
        yield from _of_run_a(run_a, run.device if isinstance(run, SentenceRun) else CPU)

    def _of_checks(self) -> Iterator[str]:
        if self.checks_all:
            yield "--check"
        for path in self.checks:
            yield f"--check-module={path}"


def sentence_run(run: ActivationRun, model: str = "") -> SentenceRun:
    """Return how a run is made again; ``model`` is another one than the report's."""
    is_random = run.source.weights != "pretrained"
    return SentenceRun(run.sentence, run.device, is_random, model)


def corpus_command(
    source: ModelSource, data: Sequence[Path], folder: Path, choices: CorpusOptions
) -> str:
    """Return the command line that makes a corpus."""
    return shlex.join(_words_of_corpus(source, data, folder, choices))


def _words_of_corpus(
    source: ModelSource, data: Sequence[Path], folder: Path, choices: CorpusOptions
) -> Iterator[str]:
    names = (str(file) if str(file) == "-" else _no_option(str(file)) for file in data)
    yield from ("bertviewer", "corpus", _no_option(source.name), *names)
    yield from ("-o", _no_option(str(folder)))
    yield from _of_source(asked_task(source), source.pickle_allowed, source.offload)
    for field in fields(choices):
        value, option = getattr(choices, field.name), field.name.replace("_", "-")
        if value != field.default:
            yield f"--{option}" if value is True else f"--{option}={value}"


def asked_task(source: ModelSource) -> str:
    """Return the task that opens a model with its head again: ``auto`` where that is decided."""
    is_decided = source.kind in ("preset", "demo", "config", "runs") and source.task == BASE
    return AUTO.name if is_decided else source.task.name


def _of_source(task: str, allow_pickle: bool, offload: bool) -> Iterator[str]:
    if task != AUTO.name:
        yield from ("--task", task)
    if allow_pickle:
        yield "--allow-pickle"
    if offload:
        yield "--offload"


def _of_run_a(run_a: SentenceRun | SavedRun | None, device: str) -> Iterator[str]:
    match run_a:
        case SentenceRun(sentence, own_device, _, model):
            yield from _texts("against", "against-pair", sentence)
            if model:
                yield f"--against-model={model}"
            if own_device != device:
                yield f"--against-device={own_device}"
        case SavedRun(file, is_a):
            yield f"--against-{'saved-a' if is_a else 'saved'}={file}"


def _texts(first: str, second: str, sentence: Sentence) -> Iterator[str]:
    yield f"--{first}={sentence.text}"
    if sentence.pair is not None:
        yield f"--{second}={sentence.pair}"


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
