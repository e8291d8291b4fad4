"""Records what the program says and shows of 89 models, and compares it later.

``python -m tests.golden record FOLDER`` writes texts of several kinds for each model, and pictures
of the window. ``python -m tests.golden compare FOLDER`` makes them again with the code as it is and
prints what differs, the same difference in many models once. The exit status is 1 if anything
differs that a file of intended differences does not list. Its lines are a reason after ``#``, then
regular expressions, each searched in ``KIND MODEL / HEADING: -LINE``.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.golden import pictures
from tests.golden.differences import (
    Change,
    Group,
    changes,
    grouped,
    read_intended,
    reason_for,
)
from tests.golden.models import TEXTS, Example, matches, read_models, write_models
from tests.golden.texts import Sections, sections_of, text_of

KINDS = (*TEXTS, "compare", "pictures")


def main(arguments: Sequence[str] | None = None) -> int:
    """Record, or compare."""
    options = _options(arguments)
    folder: Path = options.folder.absolute()
    kinds = _chosen(options)
    if options.command == "record":
        _record(folder, options.only, kinds)
        return 0
    return _compare(folder, kinds, options)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write the record")
    compare = commands.add_parser("compare", help="compare with the record")
    for command in (record, compare):
        command.add_argument("folder", nargs="?", type=Path, default=Path(".golden"))
        command.add_argument("--only", nargs="+", default=[], metavar="NAME", help="models")
        command.add_argument(
            "--kinds", nargs="+", default=[], metavar="KIND", help=", ".join(KINDS)
        )
        command.add_argument("--no-pictures", action="store_true")
    compare.add_argument("--intended", type=Path, metavar="FILE", help="intended differences")
    compare.add_argument("--output", type=Path, metavar="FOLDER", help="of pictures that differ")
    compare.add_argument(
        "--lines", type=int, default=40, help="most lines of one difference, 0 for all (40)"
    )
    options = parser.parse_args(arguments)
    options.kinds = [kind for text in options.kinds for kind in text.split(",") if kind]
    options.only = [name for text in options.only for name in text.split(",") if name]
    if unknown := sorted(set(options.kinds) - set(KINDS)):
        parser.error(f"no kind {', '.join(unknown)}; kinds are {', '.join(KINDS)}")
    return options


def _chosen(options: argparse.Namespace) -> tuple[str, ...]:
    kinds = options.kinds or KINDS
    return tuple(kind for kind in kinds if kind != "pictures" or not options.no_pictures)


def _prepare() -> None:
    """Take everything from outside that could make two records differ."""
    os.environ |= {
        "BERTVIEWER_NO_CACHE": "1",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "QT_QPA_PLATFORM": "offscreen",
    }
    import torch

    torch.set_num_threads(1)


def _record(folder: Path, only: Sequence[str], kinds: Sequence[str]) -> None:
    models = folder / "models"
    if not (models / "models.json").exists():
        # Written once: what is recorded later is of the same models.
        shutil.rmtree(models, ignore_errors=True)
        models.mkdir(parents=True)
        write_models(models)
    for kind, name, sections in records(models, only, kinds):
        file = folder / kind / f"{name}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text_of(sections), "utf-8")
    if "pictures" in kinds:
        for name in pictures.names():
            if matches(name, only):
                _say(f"pictures of {name}")
                shutil.rmtree(folder / "pictures" / name, ignore_errors=True)
                try:
                    pictures.take(name, folder / "pictures" / name, models)
                except OSError as error:
                    _say(str(error))  # those taken before it are compared all the same


def _compare(folder: Path, kinds: Sequence[str], options: argparse.Namespace) -> int:
    models: Path = folder / "models"
    if not (models / "models.json").exists():
        _say(f"{folder} has no record; write one with: python -m tests.golden record {folder}")
        return 2
    intended = read_intended(options.intended.read_text("utf-8")) if options.intended else []
    found: list[Change] = []
    count = 0
    for kind, name, sections in records(models, options.only, kinds):
        file = folder / kind / f"{name}.txt"
        if file.exists():
            count += 1
            old = sections_of(file.read_text("utf-8"))
            found += changes(kind, name, old, sections_of(text_of(sections)))
        else:
            _say(f"no record of {kind} of {name}")
    reasons = [(change, reason_for(change, intended)) for change in found]
    groups = grouped(change for change, reason in reasons if reason is None)
    for group in groups:
        _print(_shortened(group, options.lines))
    lines = list(_compare_pictures(folder, options)) if "pictures" in kinds else []
    for line in lines:
        _print(line)
    for intention in intended:
        times = sum(reason == intention.reason for _, reason in reasons)
        _print(f"intended, {times} times: {intention.reason}")
    total = sum(reason is None for _, reason in reasons)
    _print(
        f"{count} records compared: {total} differences, {len(groups)} of them distinct, "
        f"{len(lines)} pictures differ"
    )
    return int(bool(groups or lines))


def _compare_pictures(folder: Path, options: argparse.Namespace) -> Iterator[str]:
    output: Path = options.output or folder / "differences"
    for name in pictures.names():
        old = folder / "pictures" / name
        if not matches(name, options.only) or not old.exists():
            continue
        _say(f"pictures of {name}")
        with tempfile.TemporaryDirectory() as own:
            new = Path(own) / name
            try:
                pictures.take(name, new, folder / "models")
            except OSError as error:
                yield str(error)
                continue
            yield from pictures.differences(old, new, output)


def records(
    models: Path, only: Sequence[str], kinds: Sequence[str]
) -> Iterator[tuple[str, str, Sections]]:
    """Yield the kind, the name and the text of each record, with each model opened once."""
    examples, pairs = read_models(models)
    wanted = [each for each in examples if matches(each.name, only)]
    if not set(kinds) & {*TEXTS, "compare"}:
        return
    from tests.golden.kinds import compared

    before = Path.cwd()
    os.chdir(models)  # so that no name of a model has a folder in it
    try:
        for example in wanted:
            yield from _of_example(example, kinds)
        if "compare" in kinds:
            for left, right in pairs:
                if matches(left, only) or matches(right, only):
                    yield "compare", f"{left}--{right}", compared(left, right)
    finally:
        os.chdir(before)


def _of_example(example: Example, kinds: Sequence[str]) -> Iterator[tuple[str, str, Sections]]:
    from tests.golden.kinds import Opened

    start = time.perf_counter()
    opened = Opened(example)
    chosen = [kind for kind in example.kinds if kind in kinds]
    for kind in chosen:
        yield kind, example.name, opened.record(kind)
    if chosen:
        _say(f"{example.name}: {time.perf_counter() - start:.1f} s")


def _shortened(group: Group, most: int) -> str:
    lines = group.text.splitlines()
    if most and len(lines) > most + 2:
        lines[most:] = [f"… {len(lines) - most} more lines"]
    return "\n".join(lines)


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    _prepare()
    raise SystemExit(main())
