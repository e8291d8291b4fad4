"""A template: a pattern of the data-flow graph and the text that explains it."""

from collections.abc import Callable

from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.frozen import frozen


@frozen
class Template:
    """What a module is recognised as.

    Attributes:
        role: what such modules are called, for example ``self-attention``. Colours, groups of a
            report and questions depend on it.
        formula: returns the formula of a module that has the pattern, ``None`` for all others.
    """

    role: str
    formula: Callable[[ModuleView], Formula | None]
