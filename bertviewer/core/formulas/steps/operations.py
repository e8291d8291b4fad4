"""Writes patterns and operations with weights as mathematics."""

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.formulas.activation import activation_term
from bertviewer.core.formulas.embedding import constant_factor
from bertviewer.core.formulas.formula import ROTATION, SIGMOID, SOFTMAX, number_maths, quoted, sized
from bertviewer.core.formulas.module_view import ModuleView, is_out_in
from bertviewer.core.formulas.norm import MEANINGS, Norm
from bertviewer.core.formulas.steps.attention import attention
from bertviewer.core.formulas.steps.expression import PRODUCT, SUM, Expression, call, times
from bertviewer.core.formulas.steps.graph_analysis import NETWORKS, expert_choice, rotated_operand
from bertviewer.core.formulas.steps.naming import POSITION_INDEX, TABLES
from bertviewer.core.formulas.steps.writer import CLOSED, StepWriters, WriteOperand, Writer
from bertviewer.core.graph.module_graph import Step
from bertviewer.core.schema.flow import Node, Operand

_ROWS = dict(TABLES.values())
_EXPERT = 'op("Expert")_e'
_SCORES = {"softmax": SOFTMAX, "sigmoid": SIGMOID}
_PRODUCTS = ("matmul", "linear", "grouped_mm", "einsum", "baddbmm")
_MAX_STEPS = 14
"""Limit of steps of experts; more are those of a loop over experts."""

_CLOSE = 1e-3


def _main_operand(step: Step) -> Operand:
    """Return the first operand of a step that is not a parameter."""
    tensors = [each for each in step.operands if each.is_tensor]
    return next(iter([*filter(_is_data, tensors), *tensors]), Operand())


def _is_data(operand: Operand) -> bool:
    return operand.is_tensor and not operand.parameter


def _indexed(writer: Writer, step: Step, *symbols: str) -> tuple[str, ...]:
    """Return symbols with the index of a step's weights."""
    index = writer.names.indices.get(step.node.id, "")
    return tuple(f"{symbol}_{index}" if index else symbol for symbol in symbols)


def _stored(step: Step, view: ModuleView) -> tuple[str, str]:
    """Return the names of a step's weight and bias, "" for computed ones."""
    if step.node.kind == "module":
        start = f"{step.node.path}." if step.node.path else ""
        return f"{start}weight", f"{start}bias"
    names = [each.parameter for each in step.operands if each.parameter]
    weights = [name for name in names if len(view.parameter_shape(name)) > 1]
    return next(reversed(weights), ""), next((each for each in names if each not in weights), "")


def _function(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    """Return a norm or an activation."""
    term = activation_term(step) if step.operation == "activation" else Norm.of(step).terms[0]
    writer.legend.add_terms(term)
    return call(term.symbol, of(_main_operand(step)).text)


def _product(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    """Return a product with a matrix or kernel; without a module in the order of the code."""
    node, legend, view = step.node, writer.legend, writer.view
    (weight, bias), is_module = _stored(step, view), node.kind == "module"
    # Convolutions may have groups.
    is_kernel = is_module and len(view.parameter_shape(weight)) > 2
    is_kernel = is_kernel or step.operation == "convolution"
    layer = view.affine(node.path or "") if is_module and not is_kernel else None
    if is_module and not is_kernel and layer is None:
        return _closed(writer, step, of)
    states = f"{of(_main_operand(step)):4}"
    if layer is not None:
        _, use = writer.names.naming.layers.get(node.id, ("", ""))
        index = writer.names.indices.get(node.id, "")
        legend.add_terms(*layer.terms(use or f"“{legend.relative_path(node.path or '')}”", index))
        maths = layer.maths(states, index, sizes=legend.shows_sizes)
        return Expression(maths, SUM if layer.bias else PRODUCT)
    symbol, below = _indexed(writer, step, "W", "b")
    if is_kernel:
        legend.add("ast", "convolution over positions or image locations")
        text = f"{symbol} ast {states}"
    elif not weight:
        return Expression(f"{states} W", PRODUCT)
    else:
        matrix = f"{symbol}^top" if is_out_in(step, weight) else symbol
        is_first = step.operands[0].parameter == weight
        text = f"{matrix} {states}" if is_first else f"{states} {matrix}"
    if weight and view.tensor(weight):
        legend.add_tensor(symbol, "kernel" if is_kernel else "weight", weight)
    else:
        legend.add(symbol, "kernel, computed from other parameters")
    if view.tensor(bias) is None:
        return Expression(text, PRODUCT)
    legend.add_tensor(below, "bias", bias)
    return Expression(f"{text} + {below}", SUM)


def _embedding(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    legend, view, index = writer.legend, writer.view, writer.names.indices.get(step.node.id, "")
    (symbol,), (name, _) = _indexed(writer, step, "W"), _stored(step, view)
    named = next((each.parameter for each in step.operands if each.parameter), name)
    tensor, row = view.tensor(named), _ROWS.get(index)
    if tensor is None or row is None:
        legend.add_tensor(symbol, "table", named)
    else:
        fixed = "" if tensor.trainable else "fixed, not learnt: "
        legend.add(symbol, f"{fixed}one row per {row}", shape_text(tensor.shape))
    if legend.shows_sizes and tensor is not None:
        symbol = sized(symbol, *tensor.shape)
    rows, table = _main_operand(step), view.at(step.path) or view
    position = writer.names.symbols.get((rows.node, ()), POSITION_INDEX)
    if index == POSITION_INDEX and position == POSITION_INDEX:
        padding = table.integer("padding_idx")
        first = table.integer("offset") or (0 if padding is None else padding + 1)
        legend.add(position, f"positions, counted from {first}")
    if not rows.node:
        legend.add(POSITION_INDEX, "row indices that do not depend on the text: positions")
    factor = _factor(table, step.node.shape[-1]) if table.node.path != view.node.path else ""
    return Expression(f"{factor}{symbol} [{of(rows).text if rows.node else POSITION_INDEX}]")


def _factor(table: ModuleView, width: int) -> str:
    """Return the scale of a table, "" without one."""
    steps = table.graph.steps
    factor = constant_factor(steps[1], table) if len(steps) > 1 else None
    if factor is None or factor == 1:
        return ""
    is_root = abs(factor**2 - width) < _CLOSE
    return f"sqrt({width}) thick " if is_root else f"{number_maths(factor)} thick "


def _rotary(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    inner, position = of(rotated_operand(step)), step.roles.get("position")
    meaning = "rotates pairs of features by an angle that grows with the position"
    writer.legend.add(ROTATION, f"{meaning}; no parameters")
    angles = () if position is None else (of(Operand(position.node)).text,)
    return call(ROTATION, inner.text, *angles)


def _residual(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    skip = step.roles.get("residual")
    tensors = sorted(step.tensors, key=lambda each: skip is None or each.node != skip.node)
    return Expression(" + ".join(f"{of(each):1}" for each in tensors), SUM)


def _network(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    """Return the call of a feed-forward network, which is defined in its own line."""

    def network(states: Expression) -> Expression:
        return writer.group(step.inner, lambda each: states if _is_data(each) else of(each))

    states, every = of(_main_operand(step)), writer.graph.of(*NETWORKS)
    if len(writer.graph.steps) == 1:
        return network(states)
    is_one_of = len(every) > 1 and step in every
    function = f'op("FFN"_{every.index(step) + 1})' if is_one_of else 'op("FFN")'
    body = network(Expression("x"))
    writer.definitions[function] = f"{function}(x) = {body}{writer.take_clauses()}"
    return call(function, states.text)


def _routing(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    """Return the choice of a router."""
    words = [each.operation for each in step.inner]
    found = states = of(_main_operand(step))
    if "linear" in words:
        found = writer.step(step.inner[words.index("linear")], lambda operand: states)
    chosen, experts = (step.node.details.get(key) for key in ("chosen", "experts"))
    choose = f'op("TopK"_{chosen})' if chosen else 'op("TopK")'
    scoring = next((word for word in words if word in _SCORES), "")
    is_scored_after = "topk" in words and scoring in words[words.index("topk") :]
    functions = [*([_SCORES[scoring]] if scoring else []), choose]
    for function in reversed(functions) if is_scored_after else functions:
        found = call(function, found.text)
    writer.legend.add(choose, f"the best of {experts} experts for each position, with their scores")
    others = dict.fromkeys(w for w in words if w not in ("", "linear", "topk", scoring))
    after = f"; the code also performs these steps: {', '.join(others)}" if others else ""
    if "div" in others and others.keys() <= {"sum", "div", "add"}:
        after = ", divided by their sum"
    writer.legend.add("r", f"weights of the selected experts{after}")
    return found


def _experts(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    """Return the weighted sum of the chosen experts."""
    routers = {each.node.id for each in writer.graph.of("routing")}
    router = next((each.node for each in step.tensors if each.node in routers), None)
    chosen, weights = expert_choice(step) if router is None else (Operand(router), None)
    sources = {each.node for each in (chosen, weights) if each is not None}
    states = dict.fromkeys(of(each).text for each in step.tensors if each.node not in sources)
    which = "e" if chosen is None else f"e in {of(chosen)}"
    weight = "r_e" if weights is None else f"{of(weights)}_e"
    writer.legend.add(weight, "weight of expert e")
    writer.legend.add(_EXPERT, f"expert e, one of {step.node.details.get('experts')}")
    if one := _one_expert(writer, step):
        writer.definitions.setdefault(_EXPERT, f"{_EXPERT} (x) = {one}")
    function = f"{_EXPERT} ({', '.join(states) or 'X'})"
    return Expression(f"sum_({which}) {weight} thin {function}", PRODUCT)


def _one_expert(writer: Writer, step: Step) -> str:
    """Return what one expert computes of x, "" if its steps are not a chain."""
    inner = step.inner if len(step.inner) <= _MAX_STEPS else ()
    last = max((n for n, each in enumerate(inner) if each.operation in _PRODUCTS), default=-1)
    if last < 0:
        return ""
    tables = (each.operands[0] for each in inner if each.operation == "look-up" and each.operands)
    matrices = list(dict.fromkeys(each.parameter for each in tables if each.parameter))

    def look_up(writer: Writer, step: Step, of: WriteOperand) -> Expression:
        name = step.operands[0].parameter
        if not name:
            return writer.step(step, of)
        symbol = f"W_({matrices.index(name) + 1}, e)"
        writer.legend.add_tensor(symbol, "matrix of expert e, part", name)
        return Expression(symbol)

    def product(writer: Writer, step: Step, of: WriteOperand) -> Expression:
        operands = [of(each) for each in step.operands if not each.key]
        return times(*operands[:2]) if operands[1:] else writer.step(step, of)

    def outer(operand: Operand) -> Expression:
        return Expression("x") if _is_data(operand) else writer.of(operand)

    special = {"look-up": look_up, **dict.fromkeys(_PRODUCTS, product)}
    found = f"{writer.group(inner[: last + 1], outer, special)}{writer.take_clauses()}"
    return found if "x" in found and '"look-up"' not in found else ""


def _position_bias(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    if not step.inner:
        return call('op("position bias")', *writer.arguments(step, of))
    return writer.group(step.inner, of)


def _closed(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    """Return the call of a module."""
    naming, path = writer.names.naming, step.path
    if naming.from_template:
        title = "".join(word[:1].upper() + word[1:] for word in step.node.name.split("_"))
        function = naming.functions.get(step.node.id, quoted(title))
    else:
        number, holder = path.rpartition(".")[2], list_name(step.node)
        function = f"{quoted(holder)}_{number}" if holder else quoted(step.node.name)
        writer.legend.add_module(function, path)
    return call(function, *writer.arguments(step, of))


def list_name(node: Node) -> str:
    """Return the name of the list of a numbered module, "" for others."""
    *above, name = (node.path or "").split(".")
    count = 2 if above and above[-1].isdecimal() else 1
    return ".".join(above[-count:]) if name.isdecimal() else ""


OPERATIONS: StepWriters = {
    **dict.fromkeys((*MEANINGS, "activation"), _function),
    **dict.fromkeys(("linear", "convolution"), _product),
    "embedding": _embedding,
    "attention": attention,
    "rotary": _rotary,
    "residual": _residual,
    **dict.fromkeys(NETWORKS, _network),
    "routing": _routing,
    "experts": _experts,
    "position bias": _position_bias,
    CLOSED: _closed,
}
"""Functions that write steps by operation; others are written by their canonical names."""
