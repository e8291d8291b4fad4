"""The commands ``corpus`` and ``corpus-merge``."""

import argparse
import shlex
import sys
from pathlib import Path

from bertviewer.cli.printing import print_text
from bertviewer.cli.progress_line import progress_line
from bertviewer.core.sources.model_source import ModelSource

CORPUS, MERGE = "corpus", "corpus-merge"
DESCRIPTIONS = {
    CORPUS: "Run a model over many sentences and save mergeable statistics.\n\n"
    "Under torchrun, every process runs its share of the shards. Repeat the command to\n"
    "resume a run that was interrupted.",
    MERGE: "Merge corpora of one model, or the shards of one run from several folders.",
}
_NUMBERS = (
    ("--batch-size", "maximum number of sentences per batch"),
    ("--batch-tokens", "maximum number of tokens per batch, padding included"),
    ("--max-tokens", "truncate sentences to this many tokens"),
    ("--limit", "stop after this many sentences"),
    ("--shards", "number of parts that the data is split into (default: up to 64)"),
)


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``corpus`` after the model."""
    parser.add_argument(
        "data",
        nargs="+",
        type=Path,
        metavar="DATA",
        help="text files with one sentence per line, JSONL, CSV or Parquet, optionally gzipped; - "
        "for standard input",
    )
    _add_output(parser)
    parser.add_argument(
        "--column",
        metavar="NAME",
        help="column of JSONL, CSV and Parquet files with the sentences (default: text)",
    )
    for name, tip in _NUMBERS:
        parser.add_argument(name, type=int, metavar="N", help=tip)
    parser.add_argument(
        "--modules", default="*", metavar="GLOB", help="measure only modules whose path matches"
    )
    parser.add_argument(
        "--random-weights", action="store_true", help="run a model that has no weights"
    )
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda, cuda:1 … or mps")


def add_merge(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``corpus-merge``."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="CORPUS", help="folders to merge")
    _add_output(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="FOLDER", help="the folder to write"
    )


def run_corpus(source: ModelSource, options: argparse.Namespace) -> None:
    """Run a model over the data, alone or as one of torchrun's processes.

    Raises:
        UserError: an error that the user can fix.
    """
    from bertviewer.api.running import check_corpus, is_first_process
    from bertviewer.core.corpus.options import CorpusOptions

    given = {name: getattr(options, name) for name in CorpusOptions.__struct_fields__}
    chosen = {name: value for name, value in given.items() if value is not None}
    # Errors are reported before torch is imported, which takes seconds.
    check_corpus(source, options.output, CorpusOptions(**chosen))
    with progress_line(sys.stderr if is_first_process() else None) as progress:
        from bertviewer.api.opening import opened

        found = opened(source, progress).corpus(*options.data, folder=options.output, **chosen)
    if is_first_process():
        print_text(found.summary())


def merge(options: argparse.Namespace) -> None:
    """Merge corpora, without torch.

    Raises:
        UserError: they cannot be merged, or the folder exists.
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
    """Return the command that merges the corpora; it does not depend on the parent folder."""
    return shlex.join(("bertviewer", MERGE, *map(str, options.folders), "-o", options.output.name))
