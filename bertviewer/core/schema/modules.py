"""Modules and parameters, as torch's ``named_modules`` and ``named_parameters`` list them."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Literal

from msgspec import Struct

from bertviewer.core.util.serialization import Document, Scalar

FormulaFrom = Literal["role", "flow"]


class Repeat(Struct, frozen=True):
    """The run of equal siblings that a module belongs to, by their numbers in the parent."""

    first: int
    last: int
    count: int


class ModuleNode(Document, frozen=True, rename={"class_name": "class"}):
    """One module.

    Attributes:
        path: its name in ``named_modules()``, "" for the model.
        class_name: the name of its class.
        depth: the number of modules above it.
        parameters: elements of its tensors and of those below. A tied tensor counts at its first
            name only, so children add up to their parent.
        own_parameters: elements of its own tensors.
        trainable: trainable elements.
        share: the fraction of the model's parameters.
        repeat: the run of equal siblings, ``None`` for none.
        attributes: the module's own plain attributes (``in_features``, ``eps``, ``p`` …).
        extra_repr: what ``print(model)`` writes in brackets after the class.
        count_formula: a Python expression for ``parameters`` with the symbols as integers.
        forward_formula: Typst mathematics, or ``None``.
        class_module: the Python module that defines the class, empty if unknown.
        domain: the conditions under which ``count_formula`` holds, as in
            ``expressions.evaluation``; ``None`` for none.
        formula_from: whether the forward formula is a template's (``role``) or lists the steps of
            the module's data flow (``flow``).
        role: the template's name for such modules, for example ``self-attention``; else empty.
    """

    JSON = (
        "path class_name class_module depth parameters own_parameters trainable share"
        " repeat attributes extra_repr count_formula domain forward_formula formula_from role"
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
    extra_repr: str = ""
    domain: str | None = None
    formula_from: FormulaFrom | None = None
    role: str = ""

    @property
    def name(self) -> str:
        """The last part of the path; empty for the root."""
        return self.path.rpartition(".")[2]

    @property
    def parent(self) -> str | None:
        """The path of the module above, ``None`` for the root."""
        return self.path.rpartition(".")[0] if self.path else None


class TensorInfo(Document, frozen=True):
    """One parameter without its values; a tied parameter has an entry for each of its names.

    ``symbolic_shape`` has each dimension in the configuration's symbols where known. ``tied_to`` is
    the first name of the same tensor, ``None`` for the first name itself.
    """

    JSON = "name shape symbolic_shape numel dtype trainable tied_to"

    name: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool
    tied_to: str | None = None
    symbolic_shape: tuple[str, ...] | None = None

    @property
    def numel(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def owner(self) -> str:
        """The path of the module that has it."""
        return self.name.rpartition(".")[0]


def ancestors(path: str) -> Iterator[str]:
    """Yield the path itself and every path above it, the root's empty one last."""
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""
