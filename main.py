"""Start bertviewer from a checkout: the same as the installed command."""

from bertviewer.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main())
