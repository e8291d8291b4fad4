"""The command line: its arguments, and the commands that need no window.

Nothing here imports torch or Qt until a command needs it.
"""

import argparse
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bertviewer import __version__
from bertviewer.core.errors import UserError
from bertviewer.core.files import check_writable
from bertviewer.core.plain_text import printable, printable_json
from bertviewer.core.presets import PRESETS
from bertviewer.core.run.activation_run import ActivationRun, Sentence
from bertviewer.core.run.text import check_text, optional_sentence
from bertviewer.core.source import ModelSource, parse_source
from bertviewer.core.tasks import TASKS
from bertviewer.core.weights.pickle_consent import refusal_of
from bertviewer.report import formats
from bertviewer.report.comparison_text import comparison_text
from bertviewer.report.key_report import key_lines

if TYPE_CHECKING:
    from bertviewer.core.loading import LoadedModel

COMMANDS = ("summary", "run", "report", "compare", "presets")

_USAGE = """\
bertviewer [MODEL] [--task TASK] [--sentence TEXT] [--pair TEXT] [--allow-pickle]
       bertviewer summary MODEL [--task TASK] [--format FORMAT] [--depth N] [--parameters]
       bertviewer run MODEL TEXT [--pair TEXT] [--task TASK] [--random-weights] [--check]
                         [--format FORMAT]
       bertviewer report MODEL -o FILE.pdf [--sentence TEXT] [--pair TEXT] [--task TASK]
                         [--random-weights] [--check]
       bertviewer compare LEFT RIGHT [--task TASK] [--format FORMAT]
       bertviewer presets"""

_EPILOG = """\
MODEL is 'demo' (a real pretrained BERT), a preset's name, a model's folder, or one file of it: its
config.json, or weights as .safetensors or .bin; or hf://org/name[@revision], which is downloaded
from the hub. Nothing else touches the network. 'bertviewer COMMAND --help' tells more about a
command."""


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
    return parser


def _command_parser(command: str) -> argparse.ArgumentParser:
    parser = _Parser(prog=f"bertviewer {command}", description=_DESCRIPTIONS[command])
    if command == "presets":
        return parser
    if command == "compare":
        parser.add_argument("left", metavar="LEFT", help="a model, as of the other commands")
        parser.add_argument("right", metavar="RIGHT", help="the model to compare it with")
        _add_task(parser)
        _add_consent(parser)
        parser.add_argument("--format", choices=("text", "json"), default="text")
        return parser
    parser.add_argument("model", metavar="MODEL", help="demo, a preset's name, or a path")
    _add_task(parser)
    _add_consent(parser)
    if command == "summary":
        parser.add_argument("--format", choices=("text", "json", "csv", "markdown"), default="text")
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
        parser.add_argument("--format", choices=("text", "json"), default="text")
    else:
        parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE.pdf")
        _add_sentence(parser)
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
    return parser


_DESCRIPTIONS = {
    "summary": "Print a model's modules, shapes and parameter counts.",
    "run": "Run a sentence through a model and print the activation statistics of every module.",
    "report": "Write a PDF report: architecture, formulas and, with a sentence, activations.",
    "compare": "Compare two models: counts, configuration, and the values of every tensor.",
    "presets": "List the configurations that come with the program.",
}


def _add_task(parser: argparse.ArgumentParser) -> None:
    names = [task.name for task in TASKS]
    parser.add_argument(
        "--task",
        choices=names,
        default="base",
        metavar="TASK",
        help=f"the head: {', '.join(names)}",
    )


def _add_consent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-pickle",
        action="store_true",
        help="read weights in a .bin file, a pickle: only its tensors, in a process of their own",
    )


def _add_sentence(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sentence", metavar="TEXT", help="the sentence to run")
    parser.add_argument("--pair", metavar="TEXT", help="a second sentence")


def _depth(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of levels")
    return int(text)


def execute(options: argparse.Namespace) -> None:
    """Carry out a command that needs no window; its result goes to stdout.

    Raises:
        UserError: something that the user can mend.
    """
    if options.command == "presets":
        width = max(len(preset.name) for preset in PRESETS)
        _print("\n".join(f"{preset.name:<{width}}  {preset.description}" for preset in PRESETS))
    elif options.command == "summary":
        _summary(options)
    elif options.command == "run":
        _run(options)
    elif options.command == "compare":
        _compare(options)
    else:
        _report(options)


def _source(options: argparse.Namespace, name: str) -> ModelSource:
    """Return the model of that name, once a pickle is agreed to."""
    source = parse_source(name, options.task)
    if source.kind == "pickle" and not options.allow_pickle:
        raise UserError(refusal_of(source))
    return replace(source, pickle_allowed=options.allow_pickle)


def _summary(options: argparse.Namespace) -> None:
    source = _source(options, options.model)

    from bertviewer.core.loading import open_model

    model = open_model(source)
    if options.format == "json":
        # The counting formulas take a second to derive, and only this format shows them.
        document = model.with_formulas().to_json()
        if options.depth is not None:
            document["modules"] = [m for m in document["modules"] if m["depth"] <= options.depth]
        document["checkpoint"] = None if model.keys is None else model.keys.to_json()
        _print_json(document)
        return
    write = {"text": formats.text, "csv": formats.csv, "markdown": formats.markdown}
    result = write[options.format](model.architecture, options.depth, options.parameters)
    if options.format == "text" and model.keys is not None:
        result = "\n".join((result, "", *key_lines(model.keys)))
    _print(result)


def _run(options: argparse.Namespace) -> None:
    source = _source(options, options.model)
    sentence = Sentence(options.text, options.pair)
    check_text(sentence)

    from bertviewer.core.loading import open_model

    run = _run_sentence(open_model(source), sentence, options)
    if options.format == "json":
        _print_json(run.to_json())
    else:
        _print(formats.run_text(run))


def _run_sentence(
    model: "LoadedModel", sentence: Sentence, options: argparse.Namespace
) -> ActivationRun:
    """Run a sentence, and check the run if that was asked for."""
    from bertviewer.core.run.running import run_sentence

    if not options.check:
        return run_sentence(model, sentence, options.random_weights)

    from bertviewer.core.checking.check import check_run
    from bertviewer.core.run.capture import Capture

    # Nothing else runs in this process: all of the run may be kept.
    capture = Capture()
    run = run_sentence(model, sentence, options.random_weights, capture=capture)
    return replace(run, check=check_run(model, capture))


def _compare(options: argparse.Namespace) -> None:
    left, right = (_source(options, name) for name in (options.left, options.right))

    from bertviewer.core.comparing.comparing import compare_models
    from bertviewer.core.loading import open_model

    comparison = compare_models(open_model(left), open_model(right))
    if options.format == "json":
        _print_json(comparison.to_json())
    else:
        _print(comparison_text(comparison))


def _report(options: argparse.Namespace) -> None:
    source = _source(options, options.model)
    sentence = optional_sentence(options.sentence, options.pair)
    if options.check and sentence is None:
        raise UserError("--check needs --sentence: what a run gave is what is checked")

    check_writable(options.output)

    # Everything that can be refused at once has been, before the seconds that torch takes.
    from bertviewer.core.loading import open_model
    from bertviewer.report.pdf import write_report

    model = open_model(source)
    run = None if sentence is None else _run_sentence(model, sentence, options)
    write_report(options.output, model.with_formulas(), run)


def _print_json(document: dict[str, Any]) -> None:
    # Escapes of JSON where the output could not hold the characters themselves.
    is_unicode = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=not is_unicode, allow_nan=False)
    _write("\n".join(map(printable_json, text.split("\n"))))


def _print(text: str) -> None:
    # Whatever the texts of strangers hold: nothing of it moves a terminal's cursor.
    _write("\n".join(map(printable, text.split("\n"))))


def _write(text: str) -> None:
    if sys.stdout is None:
        raise UserError("cannot write the result: the standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A result may hold any character of any vocabulary; a terminal's encoding may not.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
