"""The commands about many sentences: corpus, corpus-merge, and compare of two of them."""

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bertviewer.cli.printing import print_json, print_text
from bertviewer.cli.progress_line import progress_line
from bertviewer.core.errors import UserError
from bertviewer.core.source.model_source import ModelSource

if TYPE_CHECKING:
    from bertviewer.core.corpus.choices import Choices
    from bertviewer.core.corpus.making import Part

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
    from bertviewer.core.corpus.making import check_folder

    choices = _choices(options)
    choices.check()
    check_folder(options.output, source)
    rank = _number(os.environ, "RANK", 0)
    with progress_line(sys.stderr if rank == 0 else None) as progress:
        from bertviewer.core.corpus.making import CorpusWish, make_corpus
        from bertviewer.core.loading.opening import open_model

        model = open_model(source, progress)
        model.check_weights(options.random_weights)
        model.prepare_tokenizer()
        stdin = None if sys.stdin is None else sys.stdin.buffer
        wish = CorpusWish(tuple(options.data), choices, options.output, _command(options))
        found = make_corpus(model, wish, progress, _part(options.device), stdin)
    if found is not None:
        from bertviewer.report.corpus_text import corpus_text

        print_text(corpus_text(found))


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


def are_corpora(options: argparse.Namespace) -> bool:
    """Whether ``compare`` was given two corpora.

    Raises:
        UserError: just one of the two is one.
    """
    from bertviewer.core.corpus.reading import is_corpus

    given = [is_corpus(Path(name)) for name in (options.left, options.right)]
    if any(given) and not all(given):
        other = (options.left, options.right)[given.index(False)]
        raise UserError(f"{other}: it is no corpus, and the other one is; compare two of a kind")
    return all(given)


def compare(options: argparse.Namespace) -> None:
    """Compare two corpora.

    Raises:
        UserError: one of them cannot be read.
    """
    from bertviewer.core.corpus.comparing import compare_corpora
    from bertviewer.core.corpus.reading import read_corpus
    from bertviewer.report.corpus_text import comparison_text

    found = compare_corpora(*(read_corpus(Path(name)) for name in (options.left, options.right)))
    if options.format == "json":
        print_json(found.to_json())
    else:
        print_text(comparison_text(found))


def _choices(options: argparse.Namespace) -> "Choices":
    from bertviewer.core.corpus.choices import BATCH_TOKENS, Choices

    return Choices(
        options.column,
        options.batch_size,
        BATCH_TOKENS if options.batch_tokens is None else options.batch_tokens,
        options.max_tokens,
        options.limit,
        options.shards,
        options.modules,
        options.random_weights,
        options.device.partition(":")[0],
    )


def _part(device: str) -> "Part":
    """Return which part this process runs: torchrun says it in the environment."""
    from bertviewer.core.corpus.making import Part, threads_for

    world = _number(os.environ, "WORLD_SIZE", 1)
    if device == "cuda":
        device = f"cuda:{_number(os.environ, 'LOCAL_RANK', 0)}"
    return Part(_number(os.environ, "RANK", 0), world, threads_for(device), device)


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    value = environment.get(name, "")
    return int(value) if value.isdecimal() else default


def _command(options: argparse.Namespace) -> str:
    """Return the command that makes it again: in another folder it is the same."""
    output = options.output
    words = [output.name if word == str(output) else word for word in sys.argv[1:]]
    return shlex.join(["bertviewer", *words])
