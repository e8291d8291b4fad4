"""How a normalisation is written inside the formulas of the modules around it."""

from dataclasses import dataclass

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import LAYER_NORM, RMS_NORM
from bertviewer.core.text.numerals import number_text

RMS_CLASSES = (
    *("RMSNorm", "T5LayerNorm", "MT5LayerNorm"),
    *("LlamaRMSNorm", "MistralRMSNorm", "Qwen2RMSNorm", "Qwen3RMSNorm"),
)
"""Classes of RMS norms in families whose other modules have roles: others are seen in a flow."""
ONE_PLUS_WEIGHT_CLASSES = ("GemmaRMSNorm",)
"""Likewise, where the scale is 1 + weight."""

_RMS = frozenset((*RMS_CLASSES, *ONE_PLUS_WEIGHT_CLASSES))
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
    if name is None:
        return Norm(LAYER_NORM)
    child = view.below(name)
    return Norm(RMS_NORM if child.node.class_name in _RMS else LAYER_NORM, epsilon_of(child))


def norm_terms(view: ModuleView, *names: str) -> tuple[Term, ...]:
    """Return the term for the first child of these names."""
    return norm_of(view, *names).terms


def epsilon_of(view: ModuleView) -> float | None:
    """Return the constant under the root, by either of the names that it goes by."""
    value = view.attribute("eps", "variance_epsilon")
    return value if isinstance(value, float) else None
