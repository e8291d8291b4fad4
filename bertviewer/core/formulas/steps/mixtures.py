"""Routers and the experts that they choose from, in mathematics."""

from collections.abc import Sequence

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.notation import SOFTMAX
from bertviewer.core.formulas.steps.expression import PRODUCT, Expression, call
from bertviewer.core.formulas.steps.origins import expert_choice
from bertviewer.core.formulas.steps.values import Values
from bertviewer.core.formulas.steps.words import of_word

EXPERT = 'op("Expert")_e'
_PRODUCTS = ("matmul", "linear", "grouped_mm", "einsum", "baddbmm")
_MOST_STEPS = 14
"""Experts that take more are not one after the other in one product, but in a loop."""


def routing(values: Values, step: Step) -> Expression:
    """Return the choice of a router: the best of its scores."""
    inner = step.inner
    words = [each.node.operation or "" for each in inner]
    scores = _scores(values, step, inner)
    chosen = step.node.details.get("chosen")
    choose = f'op("TopK"_{chosen})' if chosen else 'op("TopK")'
    scoring = next((word for word in words if word in ("softmax", "sigmoid")), "")
    function = SOFTMAX if scoring == "softmax" else "sigma"
    is_before = "topk" not in words or scoring in words[: words.index("topk")]
    found = scores
    if scoring and is_before:
        found = call(function, found.text)
    found = call(choose, found.text)
    if scoring and not is_before:
        found = call(function, found.text)
    experts = step.node.details.get("experts")
    values.legend.add(choose, f"the best of {experts} experts for each position, with their scores")
    values.legend.add("g", f"weights of the selected experts{_afterwards(words, scoring)}")
    return found


def experts(values: Values, step: Step) -> tuple[Expression, str]:
    """Return the weighted sum of the chosen experts, and what one of them makes of x, if known."""
    inner = step.inner
    router = next((o for o in step.tensors if values.operation_of(o.node) == "routing"), None)
    chosen, weights = expert_choice(step)
    sources = {o.node for o in (chosen, weights) if o is not None and router is None}
    sources |= {router.node} if router is not None else set()
    states = dict.fromkeys(values.of(o).text for o in step.tensors if o.node not in sources)
    which = "e"
    if router is not None:
        which = f"e in {values.names.symbol(router.node)}"
    elif chosen is not None:
        which = f"e in {values.of(chosen).text}"
    weight = "g_e"
    if router is None and weights is not None:
        weight = f"{values.of(weights).text}_e"
    values.legend.add(weight, "weight of expert e")
    values.legend.add(EXPERT, f"expert e, one of {step.node.details.get('experts')}")
    told = _expert(values, inner)
    text = f"sum_({which}) {weight} thin {EXPERT} ({', '.join(states) or 'X'})"
    return Expression(text, PRODUCT), told


def _scores(values: Values, step: Step, inner: Sequence[Step]) -> Expression:
    states = values.first(step)
    router = next((each for each in inner if each.node.operation == "linear"), None)
    if router is None:
        return states
    return values.weights.linear(router, states, "R")


def _afterwards(words: Sequence[str], scoring: str) -> str:
    """Return what is done to the scores beside, in words."""
    others = [word for word in words if word not in ("", "linear", "topk", scoring)]
    if set(others) <= {"sum", "div", "add"} and "div" in others:
        return ", divided by their sum"
    return (
        f"; the code also performs these steps: {', '.join(dict.fromkeys(others))}"
        if others
        else ""
    )


def _expert(values: Values, inner: Sequence[Step]) -> str:
    """Return what one expert makes of x; "" where the code goes another way about it."""
    last = next((it for it in reversed(inner) if it.node.operation in _PRODUCTS), None)
    if last is None or len(inner) > _MOST_STEPS:
        return ""
    by_id = {each.node.id: each for each in inner}
    names = dict.fromkeys(
        o.parameter for it in inner if it.operation == "look-up" for o in it.operands if o.parameter
    )
    matrices = {name: f"W_({number}, e)" for number, name in enumerate(names, 1)}

    def written(operand: Operand) -> Expression:
        if operand.node in by_id:
            return values.part(operand, of(by_id[operand.node]))
        return values.of(operand) if operand.parameter or operand.plain else Expression("x")

    def of(step: Step) -> Expression:
        word = step.node.operation or step.node.name
        operands = [each for each in step.operands if not each.key]
        if word == "look-up" and operands and operands[0].parameter:
            name = operands[0].parameter
            symbol = matrices[name]
            values.weights.tell(symbol, "matrix of expert e, part", name)
            return Expression(symbol)
        told = [written(each) for each in operands]
        if word in _PRODUCTS and len(told) >= 2:
            text = " ".join(each.within(PRODUCT) for each in told[:2])
            return Expression(text, PRODUCT)
        if word == "activation":
            return call(values.activation(step), *(each.text for each in told[:1]))
        return of_word(word, told, ())

    found = of(last).text
    return found if "x" in found and '"look-up"' not in found else ""
