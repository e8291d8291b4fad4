"""What a forward pass costs, in letters: multiply-adds, shapes, and memory in use.

For B sentences of S tokens. Plain data, free of torch; ``core.symbolic.costs`` derives it,
``cost_values`` puts numbers in.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from bertviewer.core.expressions.domains import letters_in
from bertviewer.core.expressions.evaluation import letters_of
from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.util.serialization import Document, by_fields, convert


class ModuleCosts(Document, frozen=True, rename={"macs": "macs_formula"}):
    """What one module does in one forward pass, all of its calls together.

    Attributes:
        macs: multiply-adds of the module and of all below it, an expression as of
            ``ModuleNode.count_formula`` with the letters of ``Costs.symbols`` as well;
            ``None`` where no formula was found. 1 MAC = 2 FLOPs; matrix products alone count.
        input_shape: the dimensions of the first tensor that it takes, ``("B", "S", "D")``;
            ``None`` where it takes none or no formula was found.
        output_shape: the dimensions of the first tensor that it gives.
        reason: why ``macs`` is ``None``, one line; empty where there is a formula.
    """

    macs: str | None
    input_shape: tuple[str, ...] | None
    output_shape: tuple[str, ...] | None
    reason: str = ""


class Costs(Struct, frozen=True, rename={"peak": "peak_elements"}):
    """What a forward pass of a model costs.

    Attributes:
        symbols: the letters that a sentence brings, B and S, with the values that figures are
            given for when nothing else is said. Their ``key`` is empty.
        modules: by module path; a module of which nothing is ever called is not in it. A container
            that is not called itself has multiply-adds and no shapes.
        peak: elements of activations alive at one time, an expression for each moment that may
            be the peak; the peak is the largest. Empty where no formula was found. It is an
            estimate: of tensors of floating point numbers, without weights, in eval mode, without
            gradients, hidden states or a cache to keep, and with eager attention, which holds the
            scores of all heads; fused attention (SDPA) does not, and needs less. A sentence of
            one token may need less, too.
        peak_fixed: letters that ``peak`` was only proven at the model's own value of, and says
            nothing else about. A second layer in one of ALBERT's groups (``inner_group_num``)
            keeps a tensor longer.
        variables: for every letter that could be changed, the one that formulas follow then: its
            own, or another's where the model was only run with both in proportion. Formulas say
            nothing of other proportions, nor of other values of a letter that is not in it.
        domain: the conditions under which all formulas hold, as of ``expressions.domains``;
            ``None`` for everywhere. It says nothing of the sentence: formulas hold for each that
            the model takes.
        reason: why there is nothing, one line; empty where there is.
    """

    symbols: tuple[Symbol, ...]
    modules: Mapping[str, ModuleCosts]
    peak: tuple[str, ...]
    peak_fixed: Mapping[str, int] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    domain: str | None = None
    reason: str = ""

    @property
    def letters(self) -> frozenset[str]:
        """The letters in all formulas and in their domain, those of the configuration too."""
        texts = [*self.peak]
        for module in self.modules.values():
            texts += [module.macs or "0", *(module.input_shape or ()), *(module.output_shape or ())]
        return letters_in(self.domain).union(*map(letters_of, texts))

    def reason_for(self, path: str) -> str:
        """Return why a module has no formula of its multiply-adds; empty if it has, or needs none.

        Of an empty ``path``, which is the root, that is why the whole model has none.
        """
        module = self.modules.get(path)
        return self.reason or ("" if module is None else module.reason)

    def to_json(self) -> dict[str, Any]:
        """Return the ``compute`` object of ``bertviewer.architecture/1``: modules in a list."""
        modules = [{"path": path, **module.to_json()} for path, module in self.modules.items()]
        return by_fields(self) | {"modules": modules}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Costs":
        """Read what ``to_json`` gave."""
        modules = {entry["path"]: entry for entry in data["modules"]}
        return convert({**data, "modules": modules}, cls)
