"""PySide6 does not read the source of modules that are imported later."""

import subprocess
import sys

CODE = """
import linecache, sys
import {module}
assert "PySide6.QtWidgets" in sys.modules
import colorsys, wave  # not imported by anything here
from PySide6.QtWidgets import QLabel
print([name for name in linecache.cache if name.endswith(("colorsys.py", "wave.py"))], QLabel)
"""


def test_the_source_of_later_imports_is_not_read() -> None:
    def read(module: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", CODE.format(module=module)],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert read("bertviewer.plots").startswith("[] ")
    assert read("bertviewer.ui").startswith("[] ")
    # Once PySide6 no longer does, restore_import is superfluous.
    assert "colorsys.py" in read("PySide6.QtWidgets")
