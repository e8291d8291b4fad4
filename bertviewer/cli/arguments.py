"""What may be said on the command line. Nothing here imports torch or Qt."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from bertviewer import __version__
from bertviewer.cli import corpus, formats
from bertviewer.cli.formats import Format
from bertviewer.core.errors import UserError
from bertviewer.core.source.tasks import AUTO, TASK_NAMES

COMMANDS = ("summary", "run", "report", "compare", "flow", *corpus.DESCRIPTIONS, "presets")

_USAGE = """\
bertviewer [MODEL] [--task TASK] [--sentence TEXT] [--pair TEXT] [--offload]
                  [--allow-pickle]
       bertviewer summary MODEL [--task TASK] [--format FORMAT] [--depth N] [--parameters]
       bertviewer run MODEL TEXT [--pair TEXT] [--task TASK] [--random-weights] [--cut]
                         [--device NAME] [--offload] [--check] [--format FORMAT]
       bertviewer report MODEL -o FILE [--sentence TEXT] [--pair TEXT] [--task TASK]
                         [--random-weights] [--cut] [--device NAME] [--offload] [--check]
                         [--check-module PATH] [--against TEXT [--against-pair TEXT]]
                         [--against-saved FILE] [--compare MODEL] [--corpus FOLDER]
                         [--sections NAME,…]
                         [--layers N,…] [--statistic NAME] [--paper PAPER] [--title TEXT]
                         [--author TEXT] [--grey] [--format FORMAT]
       bertviewer compare LEFT RIGHT [--task TASK] [--format FORMAT]
       bertviewer flow MODEL [PATH] [--task TASK] [--format FORMAT]
       bertviewer corpus MODEL DATA… -o FOLDER [--task TASK] [--column NAME] [--batch-size N]
                         [--batch-tokens N] [--max-tokens N] [--limit N] [--shards N]
                         [--modules GLOB] [--random-weights] [--device DEVICE] [--offload]
       bertviewer corpus-merge CORPUS… -o FOLDER
       bertviewer presets"""

_EPILOG = """\
MODEL is 'demo' (a real pretrained BERT), a preset's name, a model's folder, or one file of it: its
config.json, or weights as .safetensors, .bin, .pt, .pth or .ckpt; or hf://org/name[@revision],
which is downloaded from the hub. Nothing else touches the network. 'bertviewer COMMAND --help'
tells more about a command."""


class _Parser(argparse.ArgumentParser):
    """Argument errors as the one line that every other error of the program gets."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see '{self.prog} --help')")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line; ``command`` is ``window`` if none was named.

    Raises:
        UserError: the arguments are wrong.
        SystemExit: ``--help`` or ``--version`` was asked for, and has been printed.
    """
    if arguments and arguments[0] in COMMANDS:
        parser = _command_parser(arguments[0])
        return parser.parse_args(arguments[1:], argparse.Namespace(command=arguments[0]))
    return _window_parser().parse_args(arguments, argparse.Namespace(command="window"))


def _window_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bertviewer",
        usage=_USAGE,
        description="Open a BERT-family transformer and understand every number in it.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"bertviewer {__version__}")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="the model to open")
    _add_task(parser)
    _add_consent(parser)
    _add_sentence(parser)
    _add_offload(parser)
    return parser


def _command_parser(command: str) -> argparse.ArgumentParser:
    parser = _Parser(prog=f"bertviewer {command}", description=_DESCRIPTIONS[command])
    if command == "presets":
        return parser
    if command == "compare":
        parser.add_argument(
            "left",
            metavar="LEFT",
            help="a model, as of the other commands, or the folder of a corpus",
        )
        parser.add_argument("right", metavar="RIGHT", help="what to compare it with")
        _add_task(parser)
        _add_consent(parser)
        _add_format(parser, formats.COMPARISON)
        return parser
    if command == corpus.MERGE:
        corpus.add_merge(parser)
        return parser
    parser.add_argument("model", metavar="MODEL", help="demo, a preset's name, or a path")
    _add_task(parser)
    _add_consent(parser)
    if command == corpus.CORPUS:
        corpus.add_corpus(parser)
        _add_offload(parser)
        return parser
    if command == "flow":
        parser.add_argument(
            "path", nargs="?", default="", metavar="PATH", help="a module; the model if left out"
        )
        _add_format(
            parser,
            formats.FLOW,
            "what is written to the standard output: svg and pdf are drawings",
        )
        return parser
    if command == "summary":
        _add_format(parser, formats.SUMMARY)
        parser.add_argument(
            "--depth", type=_depth, metavar="N", help="levels below the model to list"
        )
        parser.add_argument(
            "--parameters", action="store_true", help="list the named parameters too"
        )
        return parser
    if command == "run":
        parser.add_argument("text", metavar="TEXT", help="the sentence to run")
        parser.add_argument("--pair", metavar="TEXT", help="a second sentence")
        _add_format(parser, formats.RUN)
    else:
        parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE")
        _add_sentence(parser)
        _add_comparisons(parser)
        _add_choices(parser)
    _add_offload(parser)
    parser.add_argument(
        "--random-weights",
        action="store_true",
        help="run a model without weights on seeded random ones; every figure says so",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="recompute what every module gave in float64 from plain tensor maths and compare; "
        "a step that differs is listed with a cross, which is a result and no error: the exit "
        "status stays 0",
    )
    parser.add_argument(
        "--cut", action="store_true", help="cut what is longer than the model has positions for"
    )
    parser.add_argument(
        "--device",
        default="cpu",
        metavar="NAME",
        help="where it is run: cpu, cuda, cuda:1 … or mps",
    )
    return parser


_DESCRIPTIONS = {
    "summary": "Print a model's modules, shapes and parameter counts.",
    "run": "Run a sentence through a model and print the activation statistics of every module.",
    "report": "Write a report: architecture, formulas and, with a sentence or a .bertviewer file "
    "of saved runs, activations.",
    "compare": "Compare two models: counts, configuration, and the values of every tensor.",
    "flow": "Show the flow of data through a module: its operations in order, or a drawing.",
    **corpus.DESCRIPTIONS,
    "presets": "List the configurations that come with the program.",
}


def _add_format(
    parser: argparse.ArgumentParser, known: tuple[Format[Any], ...], tip: str | None = None
) -> None:
    names = formats.names(known)
    parser.add_argument("--format", choices=names, default=names[0], help=tip)


def _add_task(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--task",
        choices=TASK_NAMES,
        default=AUTO.name,
        metavar="TASK",
        help=f"the head: {', '.join(TASK_NAMES)}; auto, the default, is the one that the weights "
        "were saved with",
    )


def _add_consent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-pickle",
        action="store_true",
        help="read weights that are a pickle (.bin, .pt, .pth, .ckpt): only its tensors, in a "
        "separate process",
    )


def _add_offload(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--offload",
        action="store_true",
        help="read each layer's weights when it is called, as is done of a model that does not fit "
        "into memory",
    )


def _add_sentence(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sentence", metavar="TEXT", help="the sentence to run")
    parser.add_argument("--pair", metavar="TEXT", help="a second sentence")


def _add_choices(parser: argparse.ArgumentParser) -> None:
    """Add what can be chosen of a report: its chapters are looked up when it is asked for."""
    from bertviewer.charts.layers import STATISTICS
    from bertviewer.report.choices import PAPERS
    from bertviewer.report.contents import CHAPTERS
    from bertviewer.report.formats.formats import FORMATS
    from bertviewer.report.subject import STATISTIC

    parser.add_argument(
        "--format",
        choices=[form.name for form in FORMATS],
        help="the format; the one that the file's name ends as if left out",
    )
    names = ", ".join(chapter.name for chapter in CHAPTERS)
    parser.add_argument(
        "--sections",
        type=_words,
        metavar="NAME,…",
        help=f"its chapters, all that have something to tell if left out: {names}",
    )
    parser.add_argument(
        "--layers",
        default="",
        metavar="N,…",
        help='the layers that are shown whole, as 0,5 or 2-4 or "all"; the first and the last if '
        "left out",
    )
    parser.add_argument(
        "--statistic",
        default=STATISTIC,
        metavar="NAME",
        help=f"what is drawn layer by layer: {', '.join(STATISTICS)}",
    )
    parser.add_argument("--paper", choices=PAPERS, default=PAPERS[0])
    parser.add_argument("--title", default="", metavar="TEXT", help="the model's name if left out")
    parser.add_argument("--author", default="", metavar="TEXT")
    parser.add_argument("--grey", action="store_true", help="for a printer without colours")


def _add_comparisons(parser: argparse.ArgumentParser) -> None:
    """Add what a report compares its model and its run with, and what of it is checked."""
    parser.add_argument(
        "--check-module",
        action="append",
        default=[],
        metavar="PATH",
        help="check this module alone, and the heads of its attentions; may be given again",
    )
    parser.add_argument(
        "--against", metavar="TEXT", help="another sentence: run A, which the run is compared with"
    )
    parser.add_argument("--against-pair", metavar="TEXT", help="its second sentence")
    parser.add_argument(
        "--against-model", metavar="MODEL", help="run it through another model that is built alike"
    )
    parser.add_argument("--against-device", metavar="NAME", help="where it is run")
    parser.add_argument(
        "--against-saved", metavar="FILE", help="the last run in a .bertviewer file is run A"
    )
    parser.add_argument(
        "--against-saved-a", metavar="FILE", help="the run A in a .bertviewer file is run A"
    )
    parser.add_argument(
        "--compare", metavar="MODEL", help="another model: a chapter says how the two differ"
    )
    parser.add_argument(
        "--compare-from", metavar="MODEL", help="the same, measured from that model to this one"
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="FOLDER",
        help="what the command corpus gave of this model: a chapter shows it",
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))


def _depth(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of levels")
    return int(text)
