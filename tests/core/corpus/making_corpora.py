"""Makes corpora as a command does, and reads what is in their folders."""

from pathlib import Path

from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.heartbeat import DEFAULT_TIMEOUTS, Timeouts
from bertviewer.core.corpus.making import SINGLE_PROCESS, CorpusRequest, Process, make_corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.progress import Progress, no_progress

SHARDS = CorpusOptions(shards=7)


def made(
    model: LoadedModel,
    data: Path,
    folder: Path,
    choices: CorpusOptions = SHARDS,
    *,
    process: Process = SINGLE_PROCESS,
    progress: Progress = no_progress,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
) -> Corpus | None:
    wish = CorpusRequest((data,), choices, folder, "bertviewer corpus")
    return make_corpus(model, wish, progress, process, timeouts=timeouts)


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files in the folder of a corpus."""
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
