"""The commands about many sentences: corpus and corpus-merge."""

import argparse
import shlex
import sys
from pathlib import Path

from bertviewer.cli.printing import print_text
from bertviewer.cli.progress_line import progress_line
from bertviewer.core.source.model_source import ModelSource

CORPUS, MERGE = "corpus", "corpus-merge"
DESCRIPTIONS = {
    CORPUS: "Run a model over many sentences: statistics of every module, feature and head. Under "
    "torchrun each process runs shards of its own; a run that was stopped goes on.",
    MERGE: "Merge corpora of one model, or the shards of one run from several folders.",
}
_NUMBERS = (
    ("--batch-size", "sentences that are run together at most"),
    ("--batch-tokens", "tokens that are run together at most, padding included"),
    ("--max-tokens", "longer sentences are cut to so many tokens"),
    ("--limit", "so many sentences at most"),
    ("--shards", "parts that the data are run in; a run goes on with those that are missing"),
)


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """Add what ``corpus`` takes beside a model."""
    parser.add_argument(
        "data",
        nargs="+",
        type=Path,
        metavar="DATA",
        help="text files with a sentence a line, JSONL, CSV or Parquet, any of them gzipped; - for "
        "the standard input",
    )
    _add_output(parser)
    parser.add_argument(
        "--column", metavar="NAME", help="of JSONL, CSV and Parquet; text if left out"
    )
    for name, tip in _NUMBERS:
        parser.add_argument(name, type=int, metavar="N", help=tip)
    parser.add_argument(
        "--modules", default="*", metavar="GLOB", help="the modules that are measured, by path"
    )
    parser.add_argument("--random-weights", action="store_true", help="run a model without weights")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 or mps")


def add_merge(parser: argparse.ArgumentParser) -> None:
    """Add what ``corpus-merge`` takes."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="CORPUS", help="their folders")
    _add_output(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FOLDER")


def run_corpus(source: ModelSource, options: argparse.Namespace) -> None:
    """Run a model over the data, as one of the processes that torchrun started or alone.

    Raises:
        UserError: something that the user can mend.
    """
    from bertviewer.api.running import CorpusWishes, check_corpus, is_first_process

    given = {name: getattr(options, name) for name in CorpusWishes.__annotations__}
    wishes = CorpusWishes(**{k: v for k, v in given.items() if v is not None})  # type: ignore[typeddict-item]
    # Before the seconds that torch takes.
    check_corpus(source, options.output, wishes)
    with progress_line(sys.stderr if is_first_process() else None) as progress:
        from bertviewer.api.opening import opened

        found = opened(source, progress).corpus(*options.data, folder=options.output, **wishes)
    if is_first_process():
        print_text(found.summary())


def merge(options: argparse.Namespace) -> None:
    """Merge corpora; torch is not imported.

    Raises:
        UserError: they cannot be merged, or the folder is not new.
    """
    from bertviewer.core.corpus.merging import merge_corpora
    from bertviewer.core.corpus.writing import check_new, write_corpus
    from bertviewer.report.corpus_text import corpus_text

    check_new(options.output)
    with progress_line(sys.stderr) as progress:
        found = merge_corpora(options.folders, _command(options), progress)
        write_corpus(options.output, found)
    print_text(corpus_text(found))


def _command(options: argparse.Namespace) -> str:
    """Return the command that merges them again: in another folder it is the same."""
    return shlex.join(("bertviewer", MERGE, *map(str, options.folders), "-o", options.output.name))
