"""Puts back the import that was there before PySide6 put its own in its place.

PySide6's reads the source of every module that is imported after it, to see whether that one may
switch on ``snake_case`` names of Qt's, and nobody here does. Of torch's and transformers' 2,200
modules that takes a second, and holds 50 MB of text for as long as the program runs.
"""

import builtins

# Their own import does more than that; afterwards it has nothing left to do.
import PySide6.QtCore
import PySide6.QtGui
import PySide6.QtSvg
import PySide6.QtWidgets  # noqa: F401

if (original := getattr(builtins, "__orig_import__", None)) is not None:
    builtins.__import__ = original
