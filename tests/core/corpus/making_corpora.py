"""Making corpora as the command does."""

from pathlib import Path

from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.heartbeat import DEFAULT_TIMEOUTS, Timeouts
from bertviewer.core.corpus.making import SINGLE_PROCESS, CorpusRequest, Process, make_corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.progress import Progress, no_progress

SEVEN = CorpusOptions(shards=7)


def made(
    model: LoadedModel,
    data: Path,
    folder: Path,
    options: CorpusOptions = SEVEN,
    *,
    process: Process = SINGLE_PROCESS,
    progress: Progress = no_progress,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
) -> Corpus | None:
    """Make the corpus of one data file, in one of several processes."""
    request = CorpusRequest((data,), options, folder, "bertviewer corpus")
    return make_corpus(model, request, progress, process, timeouts=timeouts)


def corpus_of(
    model: LoadedModel, data: Path, folder: Path, options: CorpusOptions = SEVEN
) -> Corpus:
    """Make a corpus in a single process."""
    found = made(model, data, folder, options)
    assert found is not None
    return found


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files in a folder by name."""
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
