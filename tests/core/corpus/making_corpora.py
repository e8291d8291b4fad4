"""Makes corpora as a command does, and reads what is in their folders."""

from pathlib import Path

from bertviewer.core.corpus.choices import Choices
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.making import ALONE, CorpusWish, Part, make_corpus
from bertviewer.core.corpus.waiting import PATIENT, Patience
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.progress import Progress, no_progress

SHARDS = Choices(shards=7)


def made(
    model: LoadedModel,
    data: Path,
    folder: Path,
    choices: Choices = SHARDS,
    *,
    part: Part = ALONE,
    progress: Progress = no_progress,
    patience: Patience = PATIENT,
) -> Corpus | None:
    wish = CorpusWish((data,), choices, folder, "bertviewer corpus")
    return make_corpus(model, wish, progress, part, patience=patience)


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files in the folder of a corpus."""
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
