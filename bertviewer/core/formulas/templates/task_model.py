"""Models with a head, and their heads: what is computed from the last hidden state for a task."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.facts import has_target, scored_labels, tells_classes_apart
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.expressions import reads_first
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates.head import MASKED_LM
from bertviewer.core.formulas.templates.template import Match, Template, Values
from bertviewer.core.frozen import frozen

_LOGITS = "Scores (logits) are not yet probabilities: softmax over the vocabulary converts them."
_TIED = (
    "The weight is tied: it is the same tensor as {tied}, listed under both names and counted "
    "once. A token’s row is used both to embed the token and to score it."
)
_NEXT = "Entry 0 of z scores “B follows A”, entry 1 “B is random”."
_REPLACED = "The sigmoid of a score is the probability that the token was replaced."
_SPANS = "Scores every token as the start and as the end of the answer."
_COLUMNS = '(z_"start", z_"end") = (Z_(:, 0), Z_(:, 1))'
_ROW = ("row",)
"""What is taken of a tensor where one row of it is looked up."""


@frozen
class _Kind:
    """How a task's scores are called.

    Attributes:
        results: the symbols of the results.
        meanings: of symbols that the task's formulas have.
        use: whose weight the last linear layer's is.
        constant: the symbol of a constant that is added to the scores, or subtracted.
    """

    results: tuple[str, ...]
    meanings: dict[str, str]
    use: str = "the classifier"
    constant: str = ""


_WORDS = {"L": "logits, one per vocabulary entry"}
_PAIR = {"z": "two logits"}
_KINDS = {
    "words": _Kind(
        ("L",),
        {**_WORDS, 'b_"final"': "a buffer of zeros, not learnt"},
        "the vocabulary scores",
        'b_"final"',
    ),
    "pretraining": _Kind(("L", "z"), _WORDS | _PAIR, "the sentence head"),
    "next sentence": _Kind(("z",), _PAIR, "the sentence head"),
    "sentence order": _Kind(("z",), _PAIR, "the sentence head"),
    "discriminator": _Kind(("z",), {"z": "one logit per token"}),
    "classes": _Kind(("z",), {"z": "logits, one per class", "Z": "scores of every position"}),
    "tokens": _Kind(("Z",), {"Z": "logits"}),
    "answers": _Kind(
        ("Z",),
        {
            "Z": "logits",
            "q": "10^6 for the question’s tokens, 0 for the first token and for the text",
        },
        "the span head",
        "q",
    ),
}


def _kind(view: ModuleView, graph: ModuleGraph) -> str:
    """Return the task that a model or a head computes scores for, "" for none."""
    task, root = view.architecture.source.task, view.at("")
    scored = () if root is None or root.graph is None else root.graph.results
    shape, *others = (node.shape for node, _ in graph.results)
    outputs = shape[-1] if shape else 0
    if any(node.name == "start logits" for node, _ in scored):
        return "answers" if not view.node.path or outputs == 2 else ""
    if task == "next-sentence":
        return "next sentence"
    if len(shape) == 3 and outputs == view.config.get("vocab_size"):
        is_pair = task == "pretraining" and [len(each) for each in others[:1]] == [2]
        return "pretraining" if is_pair else "words"
    if task == "pretraining" and len(shape) == 2:
        return "sentence order" if len(scored) > 1 else "discriminator"
    if len(shape) in (2, 3) and outputs == scored_labels(view):
        return "classes" if len(shape) == 2 else "tokens"
    return ""


def _applies_layers(view: ModuleView, path: str) -> bool:
    """Return whether a child has a list of layers: of modules with attention or residuals."""
    flows = view.architecture.flows
    inside = (node.path for node in view.architecture.modules if node.path.startswith(f"{path}."))
    in_lists = (each for each in inside if any(part.isdigit() for part in each.split(".")))
    found = (None if flows is None else flows.flow(each) for each in in_lists)
    return any(
        node.operation in ("attention", "residual")
        for flow in found
        if flow is not None
        for node in flow.all_nodes()
    )


def bases(view: ModuleView) -> tuple[Step, ...]:
    """Return the calls of a model's children that compute its hidden state: they apply layers."""
    steps = () if view.calls is None else view.calls.steps
    return tuple(s for s in steps if s.is_call and _applies_layers(view, s.node.path or ""))


def _model(kind: str, view: ModuleView) -> Match | None:
    """Return what a model with a head for a task computes."""
    graph = view.calls
    if graph is None or view.node.path or not graph.results:
        return None
    if graph.results[0][0].name == "last hidden state" or _kind(view, graph) != kind:
        return None
    found = bases(view)
    return _written(kind, view, graph, found) if found else None


def _head(kind: str, view: ModuleView) -> Match | None:
    """Return what a head computes: a module outside of the base model, called on its results."""
    graph, root = view.calls, view.at("")
    if graph is None or root is None or not view.node.path or not graph.results:
        return None
    if view.architecture.source.task == "base" or _kind(view, graph) != kind:
        return None
    inside = any(f"{view.node.path}.".startswith(f"{base.node.path}.") for base in bases(root))
    return None if inside else _written(kind, view, graph, ())


def _written(
    kind: str, view: ModuleView, graph: ModuleGraph, found: tuple[Step, ...]
) -> Match | None:
    """Return a model or head as it is written for its task; ``found`` are the base models."""
    names = _KINDS[kind]
    graph = _with_rows(graph)
    scored = graph.maker(graph.results[0][1])
    if kind == "answers" and scored is not None:  # both scores are columns of one matrix
        graph = replace(graph, results=((scored.node, Operand(scored.node.id)),))
    graph = graph.up_to(len(names.results))
    paths = {step.node.path for step in found}
    found = tuple(step for step in graph.steps if step.node.path in paths)
    linear = graph.of("linear")
    last = linear[-1] if linear else None
    layers = {}
    for number, step in enumerate(linear, 1):
        use = names.use if step is last else "the first linear layer"
        layers[step.node.id] = (str(number) if len(linear) > 1 else "", use)
    functions = {step.node.id: '"Base"' for step in found if len(found) == 1}
    heads = [s.node.id for s in graph.steps if s.is_call and graph.is_result(s) and found]
    functions |= dict.fromkeys(heads, '"Head"') if len(heads) == 1 else {}
    naming = Naming(
        results=names.results,
        symbols=dict(_symbols(names, view, graph, found)),
        layers=layers,
        meanings=_meanings(view, is_model=bool(found)) | names.meanings,
        functions=functions,
        teaches=True,
    )
    written = write(graph, view, naming)
    lines = (*written.maths, _COLUMNS) if kind == "answers" and found else written.maths
    return replace(written, maths=lines, values=_values(view, graph, last))


def _with_rows(graph: ModuleGraph) -> ModuleGraph:
    """Return a graph in which a row that is looked up is a part of the tensor it is looked up in.

    The row is that of the last token, or of the last token that ends a sequence.
    """
    rows: dict[str, Operand] = {}
    for step in graph.of("look-up"):
        table = graph.maker(step.operands[0])
        if table is not None and len(table.node.shape) == 3 > len(step.node.shape):
            rows[step.node.id] = replace(step.operands[0], parts=_ROW)

    def moved(operand: Operand) -> Operand:
        return rows.get(operand.node, operand)

    steps = (
        replace(step, operands=tuple(map(moved, step.operands)))
        for step in graph.steps
        if step.node.id not in rows
    )
    results = tuple((node, moved(operand)) for node, operand in graph.results)
    return replace(graph, steps=tuple(steps), results=results)


def _symbols(
    names: _Kind, view: ModuleView, graph: ModuleGraph, found: tuple[Step, ...]
) -> Iterator[tuple[Place, str]]:
    """Yield the symbols of hidden states, of their rows, and of what a head computes of them."""
    for step in found:
        hidden = "X" if step is found[-1] else 'X_"enc"'
        for node in (part.node for part in step.parts or (step,)):
            if node.id in step.ids:
                yield (node.id, ()), hidden if len(node.shape) == 3 else "p"
                yield (node.id, _ROW), "x_e"
    vector = "x_e" if has_target(view.architecture) else "p"
    for node in () if found else graph.inputs:
        yield (node.id, ()), "X" if len(node.shape) == 3 else vector
    for step in graph.of("linear")[-1:]:
        if any(operand == Operand(step.node.id, _ROW) for _, operand in graph.results):
            yield (step.node.id, ()), "Z"
            yield (step.node.id, _ROW), "Z_e"
        before = graph.maker(step.tensors[0])
        if before is not None and before not in found and before.operation not in ("mul", "div"):
            yield (before.node.id, ()), "T" if len(before.node.shape) == 3 else "h"
    for step in graph.of("add", "sub"):
        for operand in step.tensors if graph.is_result(step) and names.constant else ():
            given = graph.given.get(operand.node)
            if given is not None and given.kind == "constant":
                yield (given.id, ()), names.constant


def _meanings(view: ModuleView, *, is_model: bool) -> dict[str, str]:
    """Return what symbols mean in a model, or in a head."""
    last = "last token that is not padding"
    target = has_target(view.architecture)
    if target:
        last = "last end-of-sequence token"
    known = {
        "T": "output of the head’s transform",
        "h": "vector for the sequence, computed by the head",
        "Z_e": f"row of Z of the {last}",
        '"bias"': "bias, a tensor of this module itself",
    }
    if not is_model:
        return known | {
            "X": "last hidden state",
            "x_0": "last hidden state of the first token",
            "x_e": f"last hidden state of the {last}",
            "p": "pooled output of the base model",
        }
    inputs = {
        "t": "token ids of the encoder’s input",
        "u": "token ids of the decoder’s input, shifted by one position",
        'X_"enc"': "output of the encoder, one row per position",
    }
    return (known | inputs if target else known) | {
        "X": "last hidden state of the base model, one row per position",
        "x_0": "row of X of the first token",
        "x_e": f"row of X{', the decoder’s output, at' if target else ' of'} the {last}",
        "p": "pooled output: one vector for the sequence",
    }


def _values(view: ModuleView, graph: ModuleGraph, last: Step | None) -> Values:
    """Return what the texts of models and heads are filled with."""
    names = {node.name for node in graph.inputs}
    both = "decoder input ids" in names
    hides = is_causal(view.architecture)
    masked = view.architecture.source.task == "masked-lm"
    causal = both or (not masked if hides is None else hides)
    kind = "Encoder-decoder" if both else "Causal" if causal else "Masked"
    context = " as the next token" if causal else ", using context on both sides"
    biases = [view.tensors.get(name) for name in ("bias", "decoder.bias")]
    data = {"pixel values", "input features", "input values"} & names
    is_end = has_target(view.architecture)
    is_vector = [len(node.shape) for node in graph.inputs] == [2]
    vector = "first token" if reads_first(view) else "last end-of-sequence token"
    return {
        "kind": kind,
        "use": context,
        "paper": _PAPERS[kind],
        "tied": None if last is None else _tied_to(view, last),
        "twice": any(tensor is not None and tensor.tied_to for tensor in biases),
        "capped": any(s.node.details.get("activation") == "tanh" for s in graph.steps[-2:]),
        "scaled": any(_is_root_of_width(step) for step in graph.of("mul")),
        "masked": bool(graph.of("sub")),
        "data": "Image" if "pixel values" in names else "Sequence",
        "whole": "input" if data else "sequence",
        "first": reads_first(view),
        "end": is_vector and is_end,
        "vector": f" from the vector of the {vector}" if reads_first(view) or is_vector else "",
    }


def _tied_to(view: ModuleView, step: Step) -> str | None:
    """Return the tensor that a linear layer's weight is a second name of, ``None`` for none."""
    name = f"{step.node.path}.weight"
    return next((t.tied_to for t in view.architecture.parameters if t.name == name), None)


def _is_root_of_width(step: Step) -> bool:
    """Return whether vectors are multiplied by 1 over the square root of their size."""
    numbers = [float(o.plain) for o in step.operands if o.plain]
    return len(numbers) == 1 and abs(numbers[0] ** -2 - step.node.shape[-1]) < 1e-2


_PAPERS = {
    "Encoder-decoder": "Vaswani et al. 2017, section 3.4; Lewis et al. 2020; Raffel et al. 2020",
    "Causal": "Radford et al. 2019, section 2",
    "Masked": MASKED_LM,
}

TASK_MODELS = (
    Template(
        role="task model",
        match=partial(_model, "answers"),
        title="Question answering model",
        summary=_SPANS,
        notes=(
            "Here softmax runs over the positions, once for the start and once for the end.",
            Note(
                "The question is everything up to and including the first separator. The first "
                "token remains a candidate: it represents “no answer”.",
                "masked",
            ),
        ),
        keys=("width", "labels"),
        source="Devlin et al. 2019, section 4.2",
    ),
    Template(
        role="task model",
        match=partial(_model, "next sentence"),
        title="Next-sentence model",
        summary="Scores whether sentence B follows sentence A.",
        notes=(_NEXT,),
        keys=("width",),
        source="Devlin et al. 2019, section 3.1, task 2",
    ),
    Template(
        role="task model",
        match=partial(_model, "pretraining"),
        title="Pretraining model",
        summary="Performs both pretraining tasks at once: scores every vocabulary entry at every "
        "position, and the relation of the two sentences.",
        notes=(_LOGITS,),
        keys=("width",),
        source="Devlin et al. 2019, section 3.1; the order of sentences: Lan et al. 2020, "
        "section 3.1",
    ),
    Template(
        role="task model",
        match=partial(_model, "words"),
        title="{kind} language model",
        summary="Assigns every position a score for each vocabulary entry{use}.",
        notes=(
            _TIED,
            Note(
                "Before they are returned, the scores are limited by a scaled tanh (soft-capping).",
                "capped",
            ),
            Note(
                "The decoder’s output is multiplied by 1 over the square root of the hidden size.",
                "scaled",
            ),
            _LOGITS,
        ),
        keys=("vocabulary", "width", "tying"),
        source="{paper}",
    ),
    Template(
        role="task model",
        match=partial(_model, "discriminator"),
        title="Discriminator",
        summary="Scores for every token whether it was replaced by a generator.",
        notes=(_REPLACED,),
        keys=("width",),
        source="Clark et al. 2020, section 2",
    ),
    Template(
        role="task model",
        match=partial(_model, "classes"),
        title="{data} classification model",
        summary="Scores the classes for the whole {whole}.",
        notes=(
            Note(
                "Softmax over the classes converts the scores to probabilities.",
                tells_classes_apart,
            ),
        ),
        keys=("width", "labels"),
        source="Devlin et al. 2019, section 4.1",
    ),
    Template(
        role="task model",
        match=partial(_model, "tokens"),
        title="Token classification model",
        summary="Scores the classes for every token.",
        notes=("Every token is scored from its own hidden state with the same weights.",),
        keys=("width", "labels"),
        source="Devlin et al. 2019, section 5.3",
    ),
    Template(
        role="head",
        match=partial(_head, "classes"),
        title="Classification head",
        summary="Scores the classes{vector}.",
        notes=(
            Note("It replaces a pooler, which this model does not have.", "first"),
            Note(
                "The decoder’s last token has attended to the whole sequence; an encoder’s first "
                "token would serve as well, but here the decoder is read.",
                "end",
            ),
        ),
        keys=("width", "labels"),
        source="Devlin et al. 2019, section 4.1; the extra layer as in transformers’ code",
    ),
    Template(
        role="head",
        match=partial(_head, "discriminator"),
        title="Discriminator head",
        summary="Scores for each token whether it was replaced.",
        notes=(_REPLACED,),
        keys=("width", "activation"),
        source="Clark et al. 2020, section 2",
    ),
    Template(
        role="language-model head",
        match=partial(_head, "words"),
        title="Language-model head",
        summary="Scores every vocabulary entry at every position.",
        notes=(
            _TIED,
            Note(
                "“bias” and “decoder.bias” are two names for one tensor, which is added once.",
                "twice",
            ),
            _LOGITS,
        ),
        keys=("vocabulary", "width", "embedding width", "tying"),
        source=f"{MASKED_LM}; tied weights: Press & Wolf 2017",
    ),
    Template(
        role="head",
        match=partial(_head, "pretraining"),
        title="Pretraining heads",
        summary="Both of BERT’s pretraining tasks: score every vocabulary entry at every "
        "position, and score whether sentence B follows sentence A.",
        notes=(_LOGITS, _NEXT),
        keys=("vocabulary", "width"),
        source="Devlin et al. 2019, section 3.1, tasks 1 and 2",
    ),
    Template(
        role="head",
        match=partial(_head, "sentence order"),
        title="Sentence-order head",
        summary="Scores from the pooled output whether the two sentences are in the original "
        "order.",
        notes=("Entry 0 scores the original order, entry 1 the swapped order.",),
        keys=("width",),
        source="Lan et al. 2020, section 3.1",
    ),
    Template(
        role="head",
        match=partial(_head, "next sentence"),
        title="Next-sentence head",
        summary="Scores from the pooled output whether sentence B follows sentence A.",
        notes=(_NEXT,),
        keys=("width",),
        source="Devlin et al. 2019, section 3.1, task 2",
    ),
    Template(
        role="head",
        match=partial(_head, "answers"),
        title="Question answering head",
        summary=_SPANS,
        notes=("Column 0 of Z scores the start of the answer, column 1 its end.",),
        keys=("width", "feed-forward", "activation", "epsilon", "labels"),
        source="Devlin et al. 2019, section 4.2; the network as in transformers’ code",
    ),
)
