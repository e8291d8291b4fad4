"""How a normalisation is written inside the formulas of the modules around it."""

from dataclasses import dataclass

from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import LAYER_NORM, RMS_NORM
from bertviewer.core.text.numerals import number_text

_RMS = (ModuleKind.RMS_NORM, ModuleKind.RMS_NORM_ONE_PLUS)
_MEANINGS = {
    LAYER_NORM: "layer normalisation of each position's vector",
    RMS_NORM: "root-mean-square normalisation of each position's vector",
}


@dataclass(frozen=True, slots=True)
class Norm:
    """A normalisation's operator, and its epsilon where it is known."""

    operator: str
    epsilon: float | None = None

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        return "layer norm" if self.operator == LAYER_NORM else "RMS norm"

    @property
    def terms(self) -> tuple[Term, ...]:
        """The term that explains it."""
        value = None if self.epsilon is None else f"epsilon {number_text(self.epsilon, 6)}"
        return (Term(self.operator, _MEANINGS[self.operator], value),)


def norm_of(view: ModuleView, *names: str) -> Norm:
    """Return the first child of these names as a normalisation; a layer norm if there is none."""
    name = next((name for name in names if name in view.children), None)
    return Norm(LAYER_NORM) if name is None else norm_at(view, name)


def norm_at(view: ModuleView, path: str) -> Norm:
    """Return the normalisation at ``path`` from a module on.

    Raises:
        KeyError: there is no module.
    """
    child = view.below(path)
    return Norm(RMS_NORM if child.kind in _RMS else LAYER_NORM, epsilon_of(child))


def norm_terms(view: ModuleView, *names: str) -> tuple[Term, ...]:
    """Return the term for the first child of these names."""
    return norm_of(view, *names).terms


def epsilon_of(view: ModuleView) -> float | None:
    """Return the constant under the root, by either of the names that it goes by."""
    value = view.attribute("eps", "variance_epsilon")
    return value if isinstance(value, float) else None
