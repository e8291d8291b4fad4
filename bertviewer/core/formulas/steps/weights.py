"""The weights in a formula: which tensors they are, and how they are multiplied."""

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import Affine, quoted, sized
from bertviewer.core.formulas.steps.expression import PRODUCT, SUM, Expression, Legend
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.frozen import frozen

_ROWS = {
    '"word"': "vocabulary entry",
    '"type"': "segment",
    '"pos"': "position",
    '"rel"': "distance or distance bucket",
}


@frozen
class Weights:
    """Finds tensors, and explains each in the legend."""

    view: ModuleView
    legend: Legend
    naming: Naming

    def linear(self, step: Step, states: Expression, index: str) -> Expression:
        """Return what a linear layer makes of vectors, however its weight is stored."""
        if self._is_convolution(step.node):
            return self.convolution(step, states, index)
        if step.node.kind != "module":
            return self._product(step, states, index)
        layer = self._layer(step.node, index)
        maths = layer.maths(states.within(PRODUCT), index, sizes=self.naming.teaches)
        return Expression(maths, SUM if layer.bias else PRODUCT)

    def _layer(self, node: Node, index: str) -> Affine:
        """Return the linear layer that a module is."""
        path = node.path or ""
        layer = self.view.affine(path)
        if layer is None:
            taken, given = node.details.get("in_features"), node.details.get("out_features")
            bias = self._tensor(f"{path}.bias") is not None
            layer = Affine((int(given or 0), int(taken or 0)), bias)
        _, use = self.naming.layers.get(node.id, ("", ""))
        self.legend.put(*layer.terms(use or f"“{self._short(path)}”", index))
        return layer

    def _is_convolution(self, node: Node) -> bool:
        """Tell whether a module that takes one place at a time stores a kernel all the same.

        Its features may be in groups, which no one matrix tells.
        """
        weight = self._tensor(f"{node.path}.weight")
        return node.kind == "module" and weight is not None and len(weight.shape) > 2

    def _product(self, step: Step, states: Expression, index: str) -> Expression:
        """Return a product with a parameter of no module of its own, as the code has it."""
        function = str(step.node.details.get("function", "linear"))
        # What torch's linear takes first may be a parameter too: a table of positions.
        operands = step.operands[1:] if function == "linear" else step.operands
        parameters = [each.parameter for each in operands if each.parameter]
        if not parameters:
            return Expression(f"{states.within(PRODUCT)} W", PRODUCT)
        name = parameters[-1] if function == "addmm" else parameters[0]
        weight = f"W_{index}" if index else "W"
        self.tell(weight, "weight", name)
        is_first = step.operands[0].parameter == name
        told = next(each for each in step.operands if each.parameter == name)
        is_turned = (function == "linear" or function.startswith("conv")) != bool(told.parts)
        matrix = f"{weight}^top" if is_turned else weight
        inner = states.within(PRODUCT)
        text = f"{matrix} {inner}" if is_first else f"{inner} {matrix}"
        biases = [each for each in parameters if each != name]
        if not biases:
            return Expression(text, PRODUCT)
        bias = f"b_{index}" if index else "b"
        self.tell(bias, "bias", biases[0])
        return Expression(f"{text} + {bias}", SUM)

    def table(self, step: Step, index: str) -> str:
        """Return the table whose rows are looked up."""
        symbol = f"W_{index}" if index else "W"
        path = step.node.path or ""
        name = next((o.parameter for o in step.operands if o.parameter), "") or f"{path}.weight"
        tensor = self._tensor(name)
        row = _ROWS.get(index)
        if tensor is None or row is None:
            self.tell(symbol, "table", name)
        else:
            fixed = "" if tensor.trainable else "fixed, not learnt: "
            self.legend.add(symbol, f"{fixed}one row per {row}", shape_text(tensor.shape))
        shows = self.naming.teaches and tensor is not None
        return sized(symbol, *tensor.shape) if shows and tensor is not None else symbol

    def convolution(self, step: Step, states: Expression, index: str) -> Expression:
        """Return a convolution."""
        symbols = (f"W_{index}", f"b_{index}") if index else ("W", "b")
        self.legend.add("ast", "convolution over positions or image locations")
        text = f"{symbols[0]} ast {states.within(PRODUCT)}"
        names = [f"{step.node.path}.weight", f"{step.node.path}.bias"]
        if step.operands and step.node.kind != "module":
            places = [each for each in step.operands if not each.key]
            named = {each.key: each for each in step.operands if each.key}
            kernel = named.get("weight") or (places[1] if len(places) > 1 else None)
            bias = named.get("bias") or (places[2] if len(places) > 2 else None)
            names = ["" if each is None else each.parameter for each in (kernel, bias)]
        if names[0] and self._tensor(names[0]) is not None:
            self.tell(symbols[0], "kernel", names[0])
        else:
            self.legend.add(symbols[0], "kernel, computed from other parameters")
        if not names[1] or self._tensor(names[1]) is None:
            return Expression(text, PRODUCT)
        self.tell(symbols[1], "bias", names[1])
        return Expression(f"{text} + {symbols[1]}", SUM)

    def vectors(self, path: str, scale: str, shift: str) -> None:
        """Explain a scale and a shift of a module's own."""
        tensors = [t for t in self.view.architecture.parameters if t.owner == path]
        for symbol, ending in ((scale, "weight"), (shift, "bias")):
            found = next((t for t in tensors if t.name.endswith(ending)), None)
            value = None if found is None else shape_text(found.shape)
            what = "scale" if ending == "weight" else "shift"
            self.legend.add(symbol, f"learnt {what} of “{self._short(path)}”", value)

    def parameter(self, name: str) -> str:
        """Return the symbol of a parameter by its own name."""
        *_, holder, last = ("", *name.split("."))
        symbol = f"W_{quoted(holder)}" if last == "weight" and holder else quoted(last)
        self.tell(symbol, "parameter", name)
        return symbol

    def tell(self, symbol: str, what: str, name: str) -> None:
        """Explain a symbol as the tensor of that name."""
        found = self._tensor(name)
        told = self._short(name.removesuffix(".weight").removesuffix(".bias"))
        self.legend.add(
            symbol, f"{what} of “{told}”", None if found is None else shape_text(found.shape)
        )

    def _short(self, path: str) -> str:
        """Return a path from this module on."""
        own = self.view.node.path
        found = path.removeprefix(f"{own}.") if own else path
        return found if found != own else path.rpartition(".")[2]

    def _tensor(self, name: str) -> TensorInfo | None:
        plain = name.removeprefix(".")
        return next((t for t in self.view.architecture.parameters if t.name == plain), None)
