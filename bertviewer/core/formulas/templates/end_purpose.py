"""What a linear layer before the first layer or after the last one is for."""

from bertviewer.core.formulas.facts import scored_labels
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.place import Place
from bertviewer.core.formulas.steps.expressions import is_first
from bertviewer.core.formulas.templates.norm import is_norm
from bertviewer.core.formulas.templates.parts import layered, parts_of
from bertviewer.core.formulas.templates.vector_sum import read_sum

_POOLS = "Maps the first token’s vector; the pooler’s activation follows."
_POOLS_BY_TANH = "Maps the first token’s vector; a tanh follows."
_TRANSFORMS = "Transforms each position’s vector for the prediction of its token."
_SCORES_WORDS = "Computes one score (logit) per vocabulary entry."
_SCORES_CLASSES = "Computes one score (logit) per class."
_SCORES_ANSWERS = "Computes two scores per token: the answer starts here, the answer ends here."
_SCORES_SENTENCES = "Computes two scores: sentence B follows sentence A, or it does not."
_WIDENS = "Projects the embeddings to the hidden size."
_PASSED = ("add", "mul", "div", "sub", "activation", "look-up")


def end_purpose(view: ModuleView, place: Place) -> str:
    """Return what a layer does as a step of an enclosing module, "" if that is not clear there."""
    graph, step = place.graph, place.steps[0]
    if any(part.isdigit() for part in view.node.path.split(".")):
        return ""
    if _widens(place):
        return _WIDENS
    after = _sole_user(graph, step)
    if after is not None and after.operation == "activation":
        if graph.is_result(after) and is_first(step.tensors[0].parts):
            is_own = view.node.parent == place.view.node.path and len(place.view.children) > 2
            return _POOLS_BY_TANH if is_own else _POOLS
        if is_norm(_sole_user(graph, after)):
            return _TRANSFORMS
    return _score_purpose(view, graph, step) if _reaches_result(graph, step) else ""


def _sole_user(graph: ModuleGraph, step: Step) -> Step | None:
    users = graph.users(step)
    return users[0] if len(users) == 1 else None


def _reaches_result(graph: ModuleGraph, step: Step) -> bool:
    """Return whether only a bias, a factor or a choice of rows follows."""
    for _ in range(4):
        if graph.is_result(step):
            return True
        user = _sole_user(graph, step)
        if user is None or user.operation not in _PASSED or len(_made(graph, user)) > 1:
            return False
        step = user
    return False


def _made(graph: ModuleGraph, step: Step) -> list[Step]:
    return [made for o in step.tensors if (made := graph.maker(o)) is not None]


def _widens(place: Place) -> bool:
    """Return whether the first layer reads what a layer makes of the embeddings."""
    parts, step = parts_of(place.view), place.steps[0]
    if parts is None:
        return False
    own = step.node.id
    if any(run.start.node == own for run in parts.runs):
        return _reads_given(parts.graph, step)
    readers = layered(parts)
    if any(operand.node == own for part in readers for _, operand in part.inputs):
        return _reads_given(parts.graph, step) or bool(_made(parts.graph, step))
    return any(
        read_sum(place.view, operand) is not None and _is_before(parts.graph, step, operand.node)
        for _, operand in parts.graph.results
    )


def _reads_given(graph: ModuleGraph, step: Step) -> bool:
    return all(operand.node in graph.given for operand in step.tensors)


def _is_before(graph: ModuleGraph, step: Step, result: str) -> bool:
    """Return whether a step precedes a result in a chain."""
    waiting, seen = [result], set()
    while waiting:
        found = graph.by_id.get(waiting.pop())
        if found is None or found.node.id in seen:
            continue
        if found.node.id == step.node.id:
            return True
        seen.add(found.node.id)
        waiting += [operand.node for operand in found.tensors]
    return False


def _score_purpose(view: ModuleView, graph: ModuleGraph, step: Step) -> str:
    """Return what is scored, by the number of scores and the model's outputs."""
    outputs = step.node.details.get("out_features")
    if outputs == view.config.get("vocab_size"):
        return _SCORES_WORDS
    root = view.at("")
    results = () if root is None or root.graph is None else root.graph.results
    names = {node.name for node, _ in results}
    shapes = {node.name: node.shape for node, _ in results}
    if outputs == 2 and "start logits" in names:
        return _SCORES_ANSWERS
    is_pair = shapes.get("seq relationship logits") is not None or (
        view.architecture.source.task == "next-sentence"
    )
    if outputs == 2 and len(step.node.shape) == 2 and is_pair:
        return _SCORES_SENTENCES
    if "logits" not in " ".join(names):
        return ""
    return _SCORES_CLASSES if outputs == scored_labels(view) else ""
