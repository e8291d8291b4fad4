"""The forward formula of each module: mathematics, symbols with this module's values, and notes.

Start with ``catalogue.formula_of``. It tries the templates in order; the steps of a module without
a template are written as the code executes them. ``formula.py`` has the result as plain data.
Templates of one operation are here (``norm``, ``activation``, ``embedding``), as other formulas
use their names; the others are in ``templates``, and most write their lines with ``steps``.
"""
