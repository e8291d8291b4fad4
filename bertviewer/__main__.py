"""The program: the installed command, ``python -m bertviewer`` and ``python main.py``."""

import signal


def main() -> int:
    """Run the program and return its exit status.

    Ctrl+C during its imports ends it by the signal; Python would print a traceback.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from bertviewer import app

    return app.main()


if __name__ == "__main__":
    raise SystemExit(main())
