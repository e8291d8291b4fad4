"""Entry point of the program: window or command, exit statuses, and the log."""

import gc
import os
import signal
import sys
import threading
import warnings
import weakref
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TextIO

# Imports are inside the functions that need them, so that the window is shown quickly.
from bertviewer.cli import arguments as command_line
from bertviewer.core.util import sandbox
from bertviewer.core.util.errors import UserError, one_line

ERROR = "bertviewer: error: "
"""Prefix of errors on the terminal."""

_CLEANUP_SECONDS = 2
_ending = threading.Lock()
"""Held by the thread that writes the last message and ends the process."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status: 0, 2 for the user's errors, 1 for ours."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == [sandbox.ARGUMENT]:
        return sandbox.main(given[1:])
    is_program = arguments is None
    status = _status(given, is_program=is_program)
    if is_program:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with suppress(OSError, ValueError):
                    stream.flush()
        with _ending:
            _end(status)
    return status


def _status(given: Sequence[str], *, is_program: bool) -> int:
    """Run the window or a command, and return the exit status."""
    # There are no streams under pythonw on Windows.
    if is_program and sys.stdout is not None:
        sys.stdout = _detached(sys.stdout)
    if is_program and not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries, for programmers
    try:
        if is_program and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # see __main__
        _check_folder()
        return _run(command_line.parse(given), is_program=is_program)
    except KeyboardInterrupt:
        # If it was raised inside exec(), as in many imports, `python -m` would end as if the signal
        # had killed it; another exec() resets that.
        exec("")
        _say("interrupted")
        return 2
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`); Python must not flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - the outermost boundary; Rust libraries panic past Exception
        from bertviewer.api.errors import line_of

        if (line := line_of(error)) is not None:
            _say(line)
            return 2
        import traceback

        from bertviewer.core.util.log import write_log

        _say(f"internal error; details were saved to {write_log(traceback.format_exc())}")
        return 1


def _check_folder() -> None:
    """Check that the working directory exists: without it torch's libraries end the process.

    Raises:
        UserError: it was deleted.
    """
    try:
        Path.cwd()
    except OSError as error:
        raise UserError(
            "the working directory no longer exists; start bertviewer from another one"
        ) from error


def _run(options: Namespace, *, is_program: bool) -> int:
    """Open the window or run a command; ``is_program``: the process ends with it."""
    if options.command != "window":
        if is_program and sys.stderr is not None:
            sys.stderr = _detached(sys.stderr)
        from bertviewer.cli import commands
        from bertviewer.cli.interrupts import interruptible

        try:
            interruptible(lambda: commands.execute(options), _give_up)
        finally:
            if is_program:
                # The command has ended.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        return 0
    from bertviewer.core.util.memory import gc_paused

    if is_program:
        # An exception while Qt starts would be lost, or abort the process.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    with gc_paused():
        from bertviewer.ui.app.application import leave, run_window

        gc.freeze()  # imported modules stay
    status = run_window(options)
    if is_program:
        leave(status)
    return status


def _detached(stream: TextIO) -> TextIO:
    """Duplicate a stream, and redirect its descriptor to /dev/null.

    Libraries in Rust write notes about tokenizer files and traces of panics to the descriptor,
    past Python's streams; the program reports these errors itself.
    """
    stream.flush()
    shared = stream.fileno()
    own = os.fdopen(os.dup(shared), "w", 1, stream.encoding, stream.errors)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, shared)
    os.close(nowhere)
    return own


def _give_up() -> None:
    """End an interrupted command from another thread."""
    with _ending:
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write("\n")  # after the line of progress
        _write("interrupted")
        _end(2)


def _end(status: int) -> NoReturn:
    """End the process without Python's finalization.

    It would destroy objects of torch and Qt in an untested order, perhaps while another thread uses
    them, which sometimes is a segmentation fault.
    """
    # It may wait for the main thread.
    cleanup = threading.Thread(target=_clean_up, daemon=True)
    cleanup.start()
    cleanup.join(_CLEANUP_SECONDS)
    os._exit(status)


def _clean_up() -> None:
    """Remove temporary files and end helper processes; other exit handlers are Qt's."""
    from bertviewer.core.util.files import remove_unfinished
    from bertviewer.core.util.helper_process import end_helpers

    remove_unfinished()
    end_helpers()
    weakref.finalize._exitfunc()  # type: ignore[attr-defined]  # of temporary folders


def _say(message: str) -> None:
    with _ending:
        _write(message)


def _write(message: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{ERROR}{one_line(message)}\n")
