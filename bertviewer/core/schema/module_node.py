"""One module of a model: what it holds, how often it stands there, and its formulas."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bertviewer.core.util.serialization import Document
from bertviewer.core.util.special_floats import Scalar

FormulaFrom = Literal["role", "flow"]


class Repeat(Struct, frozen=True):
    """The run of equal siblings that a module belongs to, by their numbers in the parent."""

    first: int
    last: int
    count: int


class ModuleNode(Document, frozen=True, rename={"class_name": "class"}):
    """One module, as ``named_modules()`` lists it.

    ``parameters`` counts elements below and in the module, ``own_parameters`` those of its own
    tensors; a tied tensor counts at its first name only, so children add up to their parent.
    ``share`` is the part of the model's total. ``attributes`` are the module's own plain values
    (``in_features``, ``eps``, ``p`` …). ``count_formula`` is an expression that Python evaluates
    with the symbols as integers, ``domain`` the conditions under which it holds, as of
    ``expressions.domains``, ``None`` for everywhere. ``forward_formula`` is Typst mathematics, or
    ``None``; ``formula_from`` says whether it is a template's (``role``) or lists the steps of the
    module's data flow (``flow``). ``role`` is what the template calls such modules, for example
    ``self-attention``, and empty for others.
    ``class_module`` is the Python module that defines the class, empty where it is not known.
    """

    JSON = (
        "path class_name class_module depth parameters own_parameters trainable share"
        " repeat attributes count_formula domain forward_formula formula_from role"
    )

    path: str
    class_name: str
    depth: int
    parameters: int
    own_parameters: int
    trainable: int
    share: float
    repeat: Repeat | None
    attributes: Mapping[str, Scalar]
    count_formula: str
    forward_formula: str | None
    class_module: str = ""
    domain: str | None = None
    formula_from: FormulaFrom | None = None
    role: str = ""

    @property
    def name(self) -> str:
        """The last part of the path; the root has an empty one."""
        return self.path.rpartition(".")[2]

    @property
    def parent(self) -> str | None:
        """The path of the module above, ``None`` for the root."""
        return self.path.rpartition(".")[0] if self.path else None
