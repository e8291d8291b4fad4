"""The arguments of the command line, without torch and Qt."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from bertviewer import __version__
from bertviewer.cli import corpus, formats
from bertviewer.cli.formats import Format
from bertviewer.core.sources.model_source import AUTO, TASK_NAMES
from bertviewer.core.util.errors import UserError

COMMANDS = ("summary", "run", "report", "compare", "flow", *corpus.DESCRIPTIONS, "presets")

_USAGE = """\
bertviewer [MODEL] [OPTIONS]          open the window
       bertviewer COMMAND … [OPTIONS]        see 'bertviewer COMMAND --help'"""

_MODELS = """\
MODEL is one of
  demo                        all-MiniLM-L6-v2, a pretrained BERT
  a preset                    a configuration without weights: see 'bertviewer presets'
  a folder                    config.json with safetensors or pytorch_model.bin
  a file                      config.json, .safetensors, .bin, .pt, .pth, .ckpt, .bertviewer
  hf://org/name[@revision]    a model on the Hugging Face Hub; nothing else uses the network"""

_STATUS = """\
exit status: 0; 2 for an error you can fix, with one line on stderr; 1 for a bug in
bertviewer, with the path of the log. Results go to stdout, everything else to stderr."""

EXAMPLES = {
    "window": (
        "bertviewer demo",
        'bertviewer demo --sentence "The cat sat." --pair "It slept."',
        "bertviewer path/to/model --task masked-lm",
        "bertviewer hf://google-bert/bert-base-uncased",
    ),
    "summary": (
        "bertviewer summary bert-base-uncased",
        "bertviewer summary demo --depth 2 --format markdown",
        "bertviewer summary path/to/config.json --parameters",
        "bertviewer summary demo --format json > demo.json",
    ),
    "run": (
        'bertviewer run demo "The cat sat on the mat."',
        'bertviewer run demo "The cat sat." --pair "It slept." --check',
        'bertviewer run path/to/model "Paris is [MASK]." --task masked-lm --format json',
        'bertviewer run gpt2 "Hello" --random-weights',
    ),
    "report": (
        'bertviewer report demo -o demo.pdf --sentence "Hello, BERT." --check',
        "bertviewer report gpt2 -o gpt2.html --sections model,parameters,costs",
        'bertviewer report demo -o runs.pdf --sentence "A cat." --against "A dog."',
        "bertviewer report runs.bertviewer -o saved.pdf",
    ),
    "compare": (
        "bertviewer compare bert-base-uncased bert-large-uncased",
        "bertviewer compare path/to/base path/to/fine-tuned --format json",
    ),
    "flow": (
        "bertviewer flow demo encoder.layer.0",
        "bertviewer flow gpt2 h.0 --format svg > block.svg",
    ),
    "corpus": (
        "bertviewer corpus demo lines.txt -o out",
        "bertviewer corpus demo reviews.jsonl.gz -o out --column review --limit 10000",
        "torchrun --nproc-per-node 8 -m bertviewer corpus demo lines.txt -o out",
    ),
    "corpus-merge": ("bertviewer corpus-merge out-1 out-2 -o out",),
    "presets": ("bertviewer presets",),
}
"""Examples at the end of each ``--help``, which tests parse."""


class _Parser(argparse.ArgumentParser):
    """Reports wrong arguments as a ``UserError``."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see '{self.prog} --help')")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; ``command`` is ``window`` if no command is named.

    Raises:
        UserError: the arguments are wrong.
        SystemExit: after ``--help`` or ``--version``.
    """
    if arguments and arguments[0] in COMMANDS:
        parser = _command_parser(arguments[0])
        return parser.parse_args(arguments[1:], argparse.Namespace(command=arguments[0]))
    return _window_parser().parse_args(arguments, argparse.Namespace(command="window"))


def _window_parser() -> argparse.ArgumentParser:
    commands = "\n".join(
        f"  {name:14}{_DESCRIPTIONS[name].partition('.')[0]}." for name in COMMANDS
    )
    parser = _Parser(
        prog="bertviewer",
        usage=_USAGE,
        description="Open a transformer on the desktop and understand every number in it.",
        epilog=f"commands:\n{commands}\n\n{_MODELS}\n\n{_examples('window')}\n\n{_STATUS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"bertviewer {__version__}")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="the model to open")
    _add_task(parser)
    _add_consent(parser)
    _add_sentence(parser)
    _add_offload(parser)
    return parser


def _command_parser(command: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=f"bertviewer {command}",
        description=_DESCRIPTIONS[command],
        epilog=_examples(command),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if command == "presets":
        return parser
    if command == "compare":
        parser.add_argument(
            "left",
            metavar="LEFT",
            help="a model (see 'bertviewer --help'), or the folder of a corpus",
        )
        parser.add_argument("right", metavar="RIGHT", help="the one to compare it with")
        _add_task(parser)
        _add_consent(parser)
        _add_format(parser, formats.COMPARISON)
        return parser
    if command == corpus.MERGE:
        corpus.add_merge(parser)
        return parser
    parser.add_argument(
        "model", metavar="MODEL", help="demo, a preset, a path or hf://… (see 'bertviewer --help')"
    )
    _add_task(parser)
    _add_consent(parser)
    if command == corpus.CORPUS:
        corpus.add_corpus(parser)
        _add_offload(parser)
        return parser
    if command == "flow":
        parser.add_argument(
            "path",
            nargs="?",
            default="",
            metavar="PATH",
            help="path of a module (default: the whole model)",
        )
        _add_format(
            parser,
            formats.FLOW,
            "format of the output; svg and pdf are drawings (default: text)",
        )
        return parser
    if command == "summary":
        _add_format(parser, formats.SUMMARY)
        parser.add_argument(
            "--depth", type=_depth, metavar="N", help="list modules down to this level only"
        )
        parser.add_argument("--parameters", action="store_true", help="list the parameters as well")
        return parser
    if command == "run":
        parser.add_argument("text", metavar="TEXT", help="the sentence to run")
        parser.add_argument("--pair", metavar="TEXT", help="a second sentence")
        _add_format(parser, formats.RUN)
    else:
        parser.add_argument(
            "-o", "--output", required=True, type=Path, metavar="FILE", help="the file to write"
        )
        _add_sentence(parser)
        _add_comparisons(parser)
        _add_choices(parser)
    _add_offload(parser)
    parser.add_argument(
        "--random-weights",
        action="store_true",
        help="run a model that has no weights with random ones (seed 0); every figure says so",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="recompute the output of every module in float64 and compare; a mismatch is a "
        "result, not an error: it is marked with a cross and the exit status stays 0",
    )
    parser.add_argument(
        "--cut", action="store_true", help="truncate a text that exceeds the model's positions"
    )
    parser.add_argument(
        "--device", default="cpu", metavar="NAME", help="cpu (default), cuda, cuda:1 … or mps"
    )
    return parser


_DESCRIPTIONS = {
    "summary": "Print the modules, shapes and parameter counts of a model.",
    "run": "Run a sentence and print activation statistics of every module.",
    "report": "Write a report as PDF, HTML, Markdown, LaTeX or JSON.\n\n"
    "It covers the architecture and its formulas and, with --sentence or a .bertviewer\n"
    "file, a run. The same command on the same model writes the same bytes.",
    "compare": "Compare two models, or two corpora: counts, configuration, tensors.",
    "flow": "Print or draw the data flow of a module.",
    **corpus.DESCRIPTIONS,
    "presets": "List the built-in configurations.",
}


def _examples(command: str) -> str:
    return "\n  ".join(("examples:", *EXAMPLES[command]))


def _add_format(
    parser: argparse.ArgumentParser, known: tuple[Format[Any], ...], tip: str | None = None
) -> None:
    names = formats.names(known)
    tip = tip or f"format of the output (default: {names[0]})"
    parser.add_argument("--format", choices=names, default=names[0], help=tip)


def _add_task(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--task",
        choices=TASK_NAMES,
        default=AUTO.name,
        metavar="TASK",
        help=f"task head: {', '.join(TASK_NAMES)} (default: auto, the head that the checkpoint was "
        "saved with)",
    )


def _add_consent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-pickle",
        action="store_true",
        help="read pickled weights (.bin, .pt, .pth, .ckpt): tensors only, in a sandboxed process",
    )


def _add_offload(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--offload",
        action="store_true",
        help="load each layer's weights when it is called (automatic for a model that does not fit "
        "into memory)",
    )


def _add_sentence(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sentence", metavar="TEXT", help="the sentence to run")
    parser.add_argument("--pair", metavar="TEXT", help="a second sentence")


def _add_choices(parser: argparse.ArgumentParser) -> None:
    """Add the fields of ``report.options.Options``, which is imported only here."""
    from bertviewer.charts.layers import STATISTICS
    from bertviewer.report.catalogue import CHAPTERS
    from bertviewer.report.formats.formats import FORMATS
    from bertviewer.report.options import APPENDICES, PAPERS, STATISTIC

    parser.add_argument(
        "--format",
        choices=[form.name for form in FORMATS],
        default="",
        help="format of the report (default: by the extension of FILE)",
    )
    names = ", ".join(chapter.name for chapter in CHAPTERS)
    parser.add_argument(
        "--sections",
        type=_names,
        metavar="NAME,…",
        help=f"chapters to include (default: all that apply): {names}",
    )
    parser.add_argument(
        "--layers",
        default="",
        metavar="N,…",
        help='layers to show in full: 0,5 or 2-4 or "all" (default: first and last; '
        "of the attention, the layer of the most telling head)",
    )
    parser.add_argument(
        "--statistic",
        default=STATISTIC,
        metavar="NAME",
        help=f"statistic to plot by layer: {', '.join(STATISTICS)} (default: {STATISTIC})",
    )
    parser.add_argument(
        "--appendix",
        choices=APPENDICES,
        default=APPENDICES[0],
        help="list identical layers once, or all modules and parameters (default: folded)",
    )
    parser.add_argument("--paper", choices=PAPERS, default=PAPERS[0], help="default: a4")
    parser.add_argument(
        "--title", default="", metavar="TEXT", help="title (default: the model's name)"
    )
    parser.add_argument("--author", default="", metavar="TEXT", help="author below the title")
    parser.add_argument("--grey", action="store_true", help="use shades of grey only")


def _add_comparisons(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``report`` for checks and comparisons."""
    parser.add_argument(
        "--check-module",
        action="append",
        default=[],
        metavar="PATH",
        help="check only this module, with the heads of its attention; repeatable",
    )
    parser.add_argument("--against", metavar="TEXT", help="compare with a run of another sentence")
    parser.add_argument("--against-pair", metavar="TEXT", help="second sentence of that run")
    parser.add_argument(
        "--against-model", metavar="MODEL", help="another model of the same architecture to run it"
    )
    parser.add_argument("--against-device", metavar="NAME", help="device of that run")
    parser.add_argument(
        "--against-saved", metavar="FILE", help="compare with the last run in a .bertviewer file"
    )
    parser.add_argument(
        "--against-saved-a", metavar="FILE", help="compare with the run A in a .bertviewer file"
    )
    parser.add_argument(
        "--compare",
        metavar="MODEL",
        help="add a comparison with another model, which runs the sentence, too",
    )
    parser.add_argument(
        "--compare-from", metavar="MODEL", help="the same, with the other model as the reference"
    )
    parser.add_argument(
        "--corpus",
        default="",
        metavar="FOLDER",
        help="add the corpus statistics that 'bertviewer corpus' wrote of this model",
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))


def _depth(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid number of levels")
    return int(text)
