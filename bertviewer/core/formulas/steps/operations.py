"""How the operations that a graph knows are written as mathematics."""

from collections.abc import Mapping
from dataclasses import replace

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.module_view import ModuleView, reads_first
from bertviewer.core.formulas.notation import (
    LAYER_NORM,
    RMS_NORM,
    ROTATION,
    SOFTMAX,
    number_maths,
    quoted,
    sized,
)
from bertviewer.core.formulas.steps.attention import attention
from bertviewer.core.formulas.steps.expression import PRODUCT, SUM, Expression, call, times
from bertviewer.core.formulas.steps.naming import POSITIONS
from bertviewer.core.formulas.steps.origins import expert_choice, turned_by
from bertviewer.core.formulas.steps.writer import CLOSED, Of, Write, Writer
from bertviewer.core.formulas.templates.activation import activation_term
from bertviewer.core.formulas.templates.embedding import constant_factor
from bertviewer.core.graph.module_graph import FIRST, Step
from bertviewer.core.text.numerals import number_text

_NORMS: Mapping[str, tuple[str, str]] = {
    "layer norm": (LAYER_NORM, "layer normalisation of each position’s vector"),
    "rms norm": (RMS_NORM, "root-mean-square normalisation of each position’s vector"),
    "group norm": ('op("GroupNorm")', "normalisation within groups of features"),
    "batch norm": ('op("BatchNorm")', "normalisation by the mean and variance kept from training"),
    "instance norm": ('op("InstanceNorm")', "normalisation of each feature by itself"),
}
_ROWS = {
    '"word"': "vocabulary entry",
    '"type"': "segment",
    POSITIONS: "position",
    '"rel"': "distance or distance bucket",
}
_NETWORKS = ("feed-forward", "gated feed-forward")
_EXPERT = 'op("Expert")_e'
_SCORES = {"softmax": SOFTMAX, "sigmoid": "sigma"}
_PRODUCTS = ("matmul", "linear", "grouped_mm", "einsum", "baddbmm")
_MOST_STEPS = 14
"""Experts of more steps are called in a loop, and have no formula."""
_CLOSE = 1e-3


def _data(step: Step) -> Operand:
    """Return what a step computes with besides its parameters."""
    tensors = [each for each in step.operands if each.is_tensor]
    return next(iter([*filter(_is_data, tensors), *tensors]), Operand())


def _is_data(operand: Operand) -> bool:
    return operand.is_tensor and not operand.parameter


def _norm(writer: Writer, step: Step, of: Of) -> Expression:
    symbol, meaning = _NORMS[step.operation]
    epsilon = step.node.details.get("eps")
    value = f"epsilon {number_text(epsilon, 6)}" if isinstance(epsilon, float) else None
    if step.node.details.get("one_plus"):
        meaning += ", scaled by 1 + weight"
    writer.legend.add(symbol, meaning, value)
    known = writer.legend.terms[symbol]
    if known.value != value:
        both = replace(known, meaning=meaning, value=f"{known.value} or {value}")
        writer.legend.terms[symbol] = both
    return call(symbol, of(_data(step)).text)


def _affine(writer: Writer, step: Step, of: Of) -> Expression:
    gamma, beta = _indexed(writer, step, "gamma", "beta")
    writer.legend.tensor(gamma, "learnt scale", _named(step.node, "weight"))
    writer.legend.tensor(beta, "learnt shift", _named(step.node, "bias"))
    writer.legend.add("dot.o", "element-wise product")
    return Expression(f"{of(_data(step)).within(PRODUCT)} dot.o {gamma} + {beta}", SUM)


def _indexed(writer: Writer, step: Step, *symbols: str) -> tuple[str, ...]:
    """Return symbols with the index of a step's weights."""
    index = writer.names.indices.get(step.node.id, "")
    return tuple(f"{symbol}_{index}" if index else symbol for symbol in symbols)


def _linear(writer: Writer, step: Step, of: Of) -> Expression:
    node, view = step.node, writer.legend.view
    if node.kind != "module":
        return _product(writer, step, of)
    tensor = view.tensor(_named(node, "weight"))
    if tensor is not None and len(tensor.shape) > 2:  # it may be in groups, no one matrix
        return _convolution(writer, step, of)
    layer = view.affine(node.path or "")
    if layer is None:
        return _closed(writer, step, of)
    states = of(_data(step)).within(PRODUCT)
    index = writer.names.indices.get(node.id, "")
    _, use = writer.names.naming.layers.get(node.id, ("", ""))
    writer.legend.put(*layer.terms(use or f"“{writer.legend.short(node.path or '')}”", index))
    maths = layer.maths(states, index, sizes=writer.legend.teaches)
    return Expression(maths, SUM if layer.bias else PRODUCT)


def _named(node: Node, tensor: str) -> str:
    return f"{node.path}.{tensor}" if node.path else tensor


def _product(writer: Writer, step: Step, of: Of) -> Expression:
    """Return a product with a parameter that is no module, in the order of the code."""
    function = str(step.node.details.get("function", "linear"))
    weight, bias = _indexed(writer, step, "W", "b")
    states = of(_data(step)).within(PRODUCT)
    # What torch's linear takes first may be a parameter too: a table of positions.
    operands = step.operands[1:] if function == "linear" else step.operands
    parameters = [each for each in operands if each.parameter]
    if not parameters:
        return Expression(f"{states} W", PRODUCT)
    matrix = parameters.pop(-1 if function == "addmm" else 0)
    writer.legend.tensor(weight, "weight", matrix.parameter)
    is_out_in = function == "linear" or function.startswith("conv")
    if is_out_in != bool(matrix.parts):
        weight = f"{weight}^top"
    is_first = step.operands[0].parameter == matrix.parameter
    text = f"{weight} {states}" if is_first else f"{states} {weight}"
    return _with_bias(writer, text, bias, parameters[0].parameter if parameters else "")


def _with_bias(writer: Writer, product: str, bias: str, name: str) -> Expression:
    """Return a product plus a bias, the tensor of that name if there is one."""
    if writer.legend.view.tensor(name) is None:
        return Expression(product, PRODUCT)
    writer.legend.tensor(bias, "bias", name)
    return Expression(f"{product} + {bias}", SUM)


def _embedding(writer: Writer, step: Step, of: Of) -> Expression:
    index = writer.names.indices.get(step.node.id, "")
    (symbol,) = _indexed(writer, step, "W")
    named = next((o.parameter for o in step.operands if o.parameter), "")
    name = named or _named(step.node, "weight")
    tensor, row = writer.legend.view.tensor(name), _ROWS.get(index)
    if tensor is None or row is None:
        writer.legend.tensor(symbol, "table", name)
    else:
        fixed = "" if tensor.trainable else "fixed, not learnt: "
        writer.legend.add(symbol, f"{fixed}one row per {row}", shape_text(tensor.shape))
    if writer.legend.teaches and tensor is not None:
        symbol = sized(symbol, *tensor.shape)
    rows, table = _data(step), writer.legend.view.at(step.node.path or "") or writer.legend.view
    position = writer.names.places.get((rows.node, ()), "p")
    if index == POSITIONS and position in ("p", "s"):
        writer.legend.add(position, _positions(table))
    if not rows.node:
        writer.legend.add("p", "row indices that do not depend on the text: positions")
    indices = of(rows).text if rows.node else "p"
    is_closed = table.node.path != writer.legend.view.node.path
    factor = _factor(table, step.node.shape[-1]) if is_closed else ""
    return Expression(f"{factor}{symbol} [{indices}]")


def _positions(table: ModuleView) -> str:
    """Return how positions are counted as rows of a table."""
    padding = table.integer("padding_idx")
    first = table.integer("offset") or (0 if padding is None else padding + 1)
    return f"positions, counted from {first}"


def _factor(table: ModuleView, width: int) -> str:
    """Return the constant that a table multiplies its rows by, "" for none."""
    steps = () if table.graph is None else table.graph.steps
    factor = constant_factor(steps[1], table) if len(steps) > 1 else None
    if factor is None or factor == 1:
        return ""
    is_root = abs(factor**2 - width) < _CLOSE
    return f"sqrt({width}) thick " if is_root else f"{number_maths(factor)} thick "


def _convolution(writer: Writer, step: Step, of: Of) -> Expression:
    kernel, bias = _indexed(writer, step, "W", "b")
    text = f"{kernel} ast {of(_data(step)).within(PRODUCT)}"
    writer.legend.add("ast", "convolution over positions or image locations")
    names = [_named(step.node, "weight"), _named(step.node, "bias")]
    if step.node.kind != "module":
        places = [each for each in step.operands if not each.key]
        named = {each.key: each for each in step.operands}
        given = (named.get("weight", *places[1:2]), named.get("bias", *places[2:3]))
        names = ["" if each is None else each.parameter for each in given]
    if writer.legend.view.tensor(names[0]) is None:
        writer.legend.add(kernel, "kernel, computed from other parameters")
    else:
        writer.legend.tensor(kernel, "kernel", names[0])
    return _with_bias(writer, text, bias, names[1])


def _activation(writer: Writer, step: Step, of: Of) -> Expression:
    term = activation_term(step)
    writer.legend.put(term)
    return call(term.symbol, of(_data(step)).text)


def _rotary(writer: Writer, step: Step, of: Of) -> Expression:
    inner, position = of(turned_by(step)), step.roles.get("position")
    meaning = "rotates pairs of features by an angle that grows with the position"
    writer.legend.add(ROTATION, f"{meaning}; no parameters")
    angles = () if position is None else (of(Operand(position.node)).text,)
    return call(ROTATION, inner.text, *angles)


def _residual(writer: Writer, step: Step, of: Of) -> Expression:
    skip = step.roles.get("residual")
    tensors = sorted(step.tensors, key=lambda each: skip is None or each.node != skip.node)
    return Expression(" + ".join(of(each).within(SUM) for each in tensors), SUM)


def _network(writer: Writer, step: Step, of: Of) -> Expression:
    """Return a feed-forward network, a function of one vector that is defined in its own line."""

    def network(states: Expression) -> Expression:
        return writer.group(step.inner, lambda each: states if _is_data(each) else of(each))

    states, every = of(_data(step)), writer.graph.of(*_NETWORKS)
    if len(writer.graph.steps) == 1:
        return network(states)
    is_one_of = len(every) > 1 and step in every
    function = f'op("FFN"_{every.index(step) + 1})' if is_one_of else 'op("FFN")'
    writer.definitions[function] = f"{function}(x) = {network(Expression('x')).text}"
    return call(function, states.text)


def _routing(writer: Writer, step: Step, of: Of) -> Expression:
    """Return the choice of a router: the best of its scores."""
    words = [each.operation for each in step.inner]
    found = of(_data(step))
    router = next((each for each in step.inner if each.operation == "linear"), None)
    if router is not None:
        states = found
        found = writer.step(router, lambda operand: states)
    chosen = step.node.details.get("chosen")
    choose = f'op("TopK"_{chosen})' if chosen else 'op("TopK")'
    scoring = next((word for word in words if word in _SCORES), "")
    functions = [_SCORES[scoring], choose] if scoring else [choose]
    if "topk" in words and scoring in words[words.index("topk") :]:
        functions.reverse()
    for function in functions:
        found = call(function, found.text)
    experts = step.node.details.get("experts")
    writer.legend.add(choose, f"the best of {experts} experts for each position, with their scores")
    others = dict.fromkeys(w for w in words if w not in ("", "linear", "topk", scoring))
    after = f"; the code also performs these steps: {', '.join(others)}" if others else ""
    if "div" in others and others.keys() <= {"sum", "div", "add"}:
        after = ", divided by their sum"
    writer.legend.add("g", f"weights of the selected experts{after}")
    return found


def _experts(writer: Writer, step: Step, of: Of) -> Expression:
    """Return the weighted sum of the chosen experts."""
    routers = {each.node.id for each in writer.graph.of("routing")}
    router = next((each.node for each in step.tensors if each.node in routers), None)
    chosen, weights = expert_choice(step) if router is None else (Operand(router), None)
    sources = {each.node for each in (chosen, weights) if each is not None}
    states = dict.fromkeys(of(each).text for each in step.tensors if each.node not in sources)
    which = "e" if chosen is None else f"e in {of(chosen).text}"
    weight = "g_e" if weights is None else f"{of(weights).text}_e"
    writer.legend.add(weight, "weight of expert e")
    writer.legend.add(_EXPERT, f"expert e, one of {step.node.details.get('experts')}")
    if one := _one_expert(writer, step):
        writer.definitions.setdefault(_EXPERT, f"{_EXPERT} (x) = {one}")
    return Expression(
        f"sum_({which}) {weight} thin {_EXPERT} ({', '.join(states) or 'X'})", PRODUCT
    )


def _one_expert(writer: Writer, step: Step) -> str:
    """Return what one expert makes of x, "" where its steps are not one after the other."""
    inner = step.inner if len(step.inner) <= _MOST_STEPS else ()
    last = max((n for n, each in enumerate(inner) if each.operation in _PRODUCTS), default=-1)
    if last < 0:
        return ""
    tables = (each.operands[0] for each in inner if each.operation == "look-up" and each.operands)
    matrices = list(dict.fromkeys(each.parameter for each in tables if each.parameter))

    def look_up(writer: Writer, step: Step, of: Of) -> Expression:
        name = step.operands[0].parameter
        if not name:
            return writer.step(step, of)
        symbol = f"W_({matrices.index(name) + 1}, e)"
        writer.legend.tensor(symbol, "matrix of expert e, part", name)
        return Expression(symbol)

    def product(writer: Writer, step: Step, of: Of) -> Expression:
        operands = [of(each) for each in step.operands if not each.key]
        return times(*operands[:2]) if operands[1:] else writer.step(step, of)

    def outer(operand: Operand) -> Expression:
        return Expression("x") if _is_data(operand) else writer.of(operand)

    special = {"look-up": look_up, **dict.fromkeys(_PRODUCTS, product)}
    found = writer.group(inner[: last + 1], outer, special).text
    return found if "x" in found and '"look-up"' not in found else ""


def _position_bias(writer: Writer, step: Step, of: Of) -> Expression:
    if not step.inner:
        return call('op("position bias")', *writer.arguments(step, of))
    return writer.group(step.inner, of)


def _closed(writer: Writer, step: Step, of: Of) -> Expression:
    """Return the call of a module that has its own formula."""
    naming, path = writer.names.naming, step.node.path or ""
    known, child = naming.functions.get(step.node.id), writer.legend.view.at(path)
    if naming.teaches or known:
        title = "".join(word[:1].upper() + word[1:] for word in step.node.name.split("_"))
        arguments = writer.arguments(step, of)
        if len(step.tensors) == 1 and child is not None and reads_first(child):
            arguments = (of(Operand(step.tensors[0].node, (FIRST,))).text,)
        return call(known or quoted(title), *arguments)
    number, holder = path.rpartition(".")[2], list_name(step.node)
    function = f"{quoted(holder)}_{number}" if holder else quoted(step.node.name)
    writer.legend.module(function, path)
    return call(function, *writer.arguments(step, of))


def list_name(node: Node) -> str:
    """Return the name of the list that a numbered module is in, "" for others."""
    *above, name = (node.path or "").split(".")
    count = 2 if above and above[-1].isdecimal() else 1
    return ".".join(above[-count:]) if name.isdecimal() else ""


OPERATIONS: Mapping[str, Write] = {
    **dict.fromkeys(_NORMS, _norm),
    "scale and shift": _affine,
    "linear": _linear,
    "embedding": _embedding,
    "convolution": _convolution,
    "activation": _activation,
    "attention": attention,
    "rotary": _rotary,
    "residual": _residual,
    **dict.fromkeys(_NETWORKS, _network),
    "routing": _routing,
    "experts": _experts,
    "position bias": _position_bias,
    CLOSED: _closed,
}
"""How each is written; all others go by torch's word."""
