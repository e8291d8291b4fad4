"""How a normalisation is written inside the formulas of the modules around it."""

from bertviewer.core.families.module_kind import EPSILONS, ModuleKind
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import LAYER_NORM, RMS_NORM
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import number_text

OPERATORS = {
    ModuleKind.LAYER_NORM: LAYER_NORM,
    ModuleKind.LAYER_NORM_IN_FLOAT32: LAYER_NORM,
    ModuleKind.LAYER_NORM_OF_COLUMNS: LAYER_NORM,
    ModuleKind.RMS_NORM: RMS_NORM,
    ModuleKind.RMS_NORM_ONE_PLUS: RMS_NORM,
}
"""The operator of each kind of normalisation."""

_MEANINGS = {
    LAYER_NORM: "layer normalisation of each position’s vector",
    RMS_NORM: "root-mean-square normalisation of each position’s vector",
}


@frozen
class Norm:
    """A normalisation's operator, and its epsilon where it is known."""

    operator: str
    epsilon: float | None = None

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        return "layer norm" if self.operator == LAYER_NORM else "RMS norm"

    @property
    def one(self) -> str:
        """The name with its article."""
        return f"{'a' if self.operator == LAYER_NORM else 'an'} {self.name}"

    @property
    def terms(self) -> tuple[Term, ...]:
        """The term that explains it."""
        value = None if self.epsilon is None else f"epsilon {number_text(self.epsilon, 6)}"
        return (Term(self.operator, _MEANINGS[self.operator], value),)


def norm_of(view: ModuleView, *names: str) -> Norm:
    """Return the first child of these names as a normalisation.

    Raises:
        LookupError: there is none of them, or it is no normalisation of a known kind.
    """
    name = next((name for name in names if name in view.children), names[0])
    return norm_at(view, name)


def norm_at(view: ModuleView, path: str) -> Norm:
    """Return the normalisation at ``path`` from a module on.

    Raises:
        LookupError: there is no module, or it is no normalisation of a known kind.
    """
    child = view.below(path)
    operator = None if child.kind is None else OPERATORS.get(child.kind)
    if operator is None:
        raise LookupError(f"{child.node.class_name} is no normalisation of a known kind")
    return Norm(operator, epsilon_of(child))


def epsilon_of(view: ModuleView) -> float | None:
    """Return the constant under the root, by any of the names that it goes by."""
    value = view.attribute(*EPSILONS)
    return value if isinstance(value, float) else None
