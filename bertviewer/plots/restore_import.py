"""Restores the import function that PySide6 replaces.

PySide6's reads the source of every module that is imported later, in search of ``snake_case``
feature switches, which are not used here. For the 2,200 modules of torch and transformers that
takes a second, and keeps 50 MB of text in memory.
"""

import builtins

# These are the modules that need PySide6's function.
import PySide6.QtCore
import PySide6.QtGui
import PySide6.QtSvg
import PySide6.QtWidgets  # noqa: F401

if (original := getattr(builtins, "__orig_import__", None)) is not None:
    builtins.__import__ = original
