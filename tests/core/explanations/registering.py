"""Which explanation is evaluated how."""

from collections.abc import Callable
from importlib import import_module

from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.explanations.explanation import Answer
from tests.core.formulas.note_cases import Case

Check = Callable[[Case, ModuleNode, Answer], bool]


CLAIMS: dict[str, Check] = {}


def claims(*names: str) -> Callable[[Check], Check]:
    """Register what evaluates the explanations of these names."""

    def register(check: Check) -> Check:
        CLAIMS.update(dict.fromkeys(names, check))
        return check

    return register


def all_claims() -> dict[str, Check]:
    """Return what evaluates each explanation."""
    for name in ("claims", "token_claims"):
        import_module(f"tests.core.explanations.{name}")
    return CLAIMS
