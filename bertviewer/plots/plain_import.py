"""Gives Python its own import back, which PySide6 replaces.

PySide6's reads the source of every module that is imported after it, to see whether that one may
switch on ``snake_case`` names of Qt's, and nobody here does. Of torch's and transformers' 2,200
modules that takes a second, and holds 50 MB of text for as long as the program runs.
"""

import builtins

# Their own import does more than that; afterwards it has nothing left to do.
from PySide6 import QtCore, QtGui, QtSvg, QtWidgets

__all__ = ["QtCore", "QtGui", "QtSvg", "QtWidgets"]

if (original := getattr(builtins, "__orig_import__", None)) is not None:
    builtins.__import__ = original
