"""The decoder of an encoder-decoder reads a sequence of its own: S_d tokens, as in the costs."""

import re
from dataclasses import replace

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.notation import TARGET, TOKENS

_LENGTH = re.compile(r"\bS\b'?")


def reads_target(node: ModuleNode, architecture: Architecture) -> bool:
    """Tell whether a module is a part of the decoder of an encoder-decoder."""
    parts = node.path.split(".")
    for place, part in enumerate(parts):
        holder = ".".join(parts[:place])
        if part == "decoder" and "encoder" in {c.name for c in architecture.children(holder)}:
            return True
    return False


def has_target(architecture: Architecture) -> bool:
    """Tell whether a model reads two sequences: what its head scores is the target then."""
    return any(reads_target(node, architecture) for node in architecture.modules)


def of_target(formula: Formula) -> Formula:
    """Return a formula with S_d for its own tokens, and S for those that the encoder read."""
    return replace(
        formula,
        maths=tuple(_LENGTH.sub(_renamed, line) for line in formula.maths),
        terms=tuple(TARGET if term == TOKENS else _term(term) for term in formula.terms),
    )


def _term(term: Term) -> Term:
    value = None if term.value is None else _LENGTH.sub(_renamed, term.value)
    return replace(term, symbol=_LENGTH.sub(_renamed, term.symbol), value=value)


def _renamed(found: re.Match[str]) -> str:
    return "S" if found[0].endswith("'") else "S_d"
