"""Wires the program together: one entry point, its exit statuses, and its log."""

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

# What each way of starting needs is imported there: the window is to be seen at once.
from bertviewer.cli import arguments as command_line
from bertviewer.core.util import sandbox
from bertviewer.core.util.errors import UserError, one_line

ERROR = "bertviewer: error: "
"""What every error begins with on a terminal."""

_TIDY_SECONDS = 2
_last = threading.Lock()
"""Held by the thread that says the last word and ends the process: no other says one after it."""


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
        with _last:
            _end(status)
    return status


def _status(given: Sequence[str], *, is_program: bool) -> int:
    """Carry out what was asked for and return the exit status."""
    # There are none under pythonw on Windows.
    if is_program and sys.stdout is not None:
        sys.stdout = _kept_apart(sys.stdout)
    if is_program and not sys.warnoptions:
        warnings.simplefilter("ignore")  # words of libraries for programmers
    try:
        if is_program and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # see __main__
        _check_folder()
        return _carry_out(command_line.parse(given), is_program=is_program)
    except KeyboardInterrupt:
        # One that passed through an exec(), as imports have many, leaves a mark by which
        # `python -m` would end as if the signal had killed it; another exec() takes it away.
        exec("")
        _say("interrupted")
        return 2
    except BrokenPipeError:
        # The reader has seen enough (`| head`); Python must not try to flush again at exit.
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
    """Return if there is a working folder: torch's libraries end the process where there is none.

    Raises:
        UserError: it was deleted.
    """
    try:
        Path.cwd()
    except OSError as error:
        raise UserError(
            "the working directory no longer exists; start bertviewer from another one"
        ) from error


def _carry_out(options: Namespace, *, is_program: bool) -> int:
    """Open the window, or carry out a command; ``is_program``: the process ends with it."""
    if options.command != "window":
        if is_program and sys.stderr is not None:
            sys.stderr = _kept_apart(sys.stderr)
        from bertviewer.cli import commands
        from bertviewer.cli.interrupts import interruptible

        try:
            interruptible(lambda: commands.execute(options), _give_up)
        finally:
            if is_program:
                # The command has ended, and what is left takes no time.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        return 0
    from bertviewer.core.util.memory import gc_paused

    if is_program:
        # An exception amid Qt's own beginnings would be lost in them, or abort the process.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    with gc_paused():
        from bertviewer.ui.app.application import leave, run_window

        gc.freeze()  # what is imported stays
    status = run_window(options)
    if is_program:
        leave(status)
    return status


def _kept_apart(stream: TextIO) -> TextIO:
    """Return a way of this program's own to where a stream goes, and leave others none.

    Libraries in Rust print notes about odd tokenizer files there, and traces when one makes them
    panic, past Python's streams; what there is to say of it is this program's one line.
    """
    stream.flush()
    shared = stream.fileno()
    own = os.fdopen(os.dup(shared), "w", 1, stream.encoding, stream.errors)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, shared)
    os.close(nowhere)
    return own


def _give_up() -> None:
    """End an interrupted command from another thread than the main one."""
    with _last:
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write("\n")  # the line of progress is left there
        _write("interrupted")
        _end(2)


def _end(status: int) -> NoReturn:
    """End the process without what Python does at its end.

    It would take torch and Qt apart in an order that nobody has tried, perhaps while another thread
    is in one of them: now and then that is a segmentation fault.
    """
    # One of them may wait for the main thread.
    tidying = threading.Thread(target=_tidy, daemon=True)
    tidying.start()
    tidying.join(_TIDY_SECONDS)
    os._exit(status)


def _tidy() -> None:
    """Take away what is temporary; what else is registered to be called at the end is Qt's."""
    from bertviewer.core.util.files import remove_unfinished
    from bertviewer.core.util.helper_process import end_helpers

    remove_unfinished()
    end_helpers()
    weakref.finalize._exitfunc()  # type: ignore[attr-defined]  # of temporary folders


def _say(message: str) -> None:
    with _last:
        _write(message)


def _write(message: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{ERROR}{one_line(message)}\n")
