"""Models with a task head."""

from collections.abc import Iterator

from msgspec.structs import replace

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.formulas.module_view import ModuleView, io_names, reads_first, scored_labels
from bertviewer.core.formulas.steps.graph_analysis import OperandKey
from bertviewer.core.formulas.steps.lines import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.template import Match, Template, Values
from bertviewer.core.formulas.templates.stack import stacks_of
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Operand

_MASKED_LM = "Devlin et al. 2019, section 3.1, task 1"


_ROW, _MEAN = ("row",), ("mean",)
"""Parts of hidden states: one looked-up row, or the mean without padding."""

_RESULTS = {"words": ("Z",), "pretraining": ("Z", "z"), "tokens": ("Z",), "answers": ("Z",)}
_CONSTANTS = {("words", "add"): 'b_"final"', ("answers", "sub"): "m"}
_USES = {"words": "the vocabulary scores", "answers": "the span head"}
_SCORES = {"classes": "logits, one per class", "discriminator": "one logit per token"}
_MEANINGS = {
    "X": "last hidden state of the base model, one row per position",
    'X_"enc"': "output of the encoder, one row per position",
    't_"tgt"': "token ids of the decoder’s input, shifted by one position",
    "x_0": "last hidden state of the first token",
    "x_s": "row of X at position s; padding is excluded",
    'x_"end"': "last hidden state of the {end}",
    "c": "pooled output: one vector for the sequence",
    "H": "output of the head’s transform",
    "f": "vector for the sequence, computed by the head",
    "Z": "logits, one row per position",
    'z_"end"': "row of Z of the {end}",
    "z": "{scores}",
    '"bias"': "bias, a tensor of this module itself",
    'b_"final"': "a buffer of zeros, not learnt",
    "m": "mask: 10⁶ for the question’s tokens, 0 for the first token and for the text; "
    "subtracting it has the effect of −∞",
}


def _has_target_ids(view: ModuleView) -> bool:
    return "decoder input ids" in io_names(view, "input")


def _kind(view: ModuleView, graph: ModuleGraph) -> str:
    """Return the task of a model or head, "" for none."""
    task, outputs = view.architecture.source.task, io_names(view, "output")
    shapes = [node.shape for node, _ in graph.results]
    size = shapes[0][-1] if shapes and shapes[0] else 0
    match [len(shape) for shape in shapes[:2]]:
        case [2 | 3, *_] if "start logits" in outputs:
            is_split = len({operand.node for _, operand in graph.results[:2]}) > 1
            return "" if is_split or (view.node.path and size != 2) else "answers"
        case [2, *_] if task == "next-sentence":
            return "next sentence"
        case [3, 2] if task == "pretraining":
            return "pretraining"
        case [3, *_] if size == view.config.get("vocab_size"):
            return "words"
        case [2, *_] if task == "pretraining" and "sop logits" in outputs:
            return "sentence order"
        case [2, *_] if task == "pretraining" and outputs == ["logits"]:
            return "discriminator"
        case [2 | 3 as dimensions, *_] if size == scored_labels(view):
            return "classes" if dimensions == 2 else "tokens"
    return ""


def _task(view: ModuleView) -> Match | None:
    """Return a model with a task head, or such a head."""
    path, graph = view.node.path, view.calls
    outputs, kind = io_names(view, "output"), _kind(view, graph)
    is_repeated = any(name.isdigit() for name in path.split("."))
    if not kind or is_repeated or outputs[:1] == ["last hidden state"]:
        return None
    root = view.at("")
    found = {step.path for step in (stacks_of(root) if root else ())}
    if not found or any(f"{path}.".startswith(f"{base}.") for base in found):
        return None
    return _formula_of_task(kind, view, graph, set() if path else found)


def _formula_of_task(kind: str, view: ModuleView, graph: ModuleGraph, own: set[str]) -> Match:
    """Return the formula of a head, or of a model with base models at these paths."""
    graph, results = _with_rows(graph), _RESULTS.get(kind, ("z",))
    scores = graph.maker(graph.results[0][1])
    if kind == "answers" and scores is not None:  # both scores are columns of one matrix
        graph = replace(graph, results=((scores.node, Operand(scores.node.id)),))
    graph = graph.up_to(len(results))
    found = [step for step in graph.steps if step.node.path in own]
    heads = [step for step in graph.steps if own and step.is_call and graph.is_result(step)]
    linear = [step.node.id for step in graph.of("linear")]
    uses = ["the first linear layer"] * len(linear[1:]) + [_USES.get(kind, "the classifier")]
    numbers = [str(number) if linear[1:] else "" for number, _ in enumerate(linear, 1)]
    called = (('"Base"', found), ('"Head"', heads))
    values = _values(kind, view, graph, is_model=bool(own))
    naming = Naming(
        results=results,
        symbols=dict(_symbols(kind, view, graph, found)),
        layers=dict(zip(linear, zip(numbers, uses, strict=False), strict=True)),
        meanings={key: meaning.format_map(values) for key, meaning in _MEANINGS.items()},
        functions={steps[0].node.id: name for name, steps in called if len(steps) == 1},
    )
    written = write(graph, view, naming)
    columns = ('(z_"start", z_"end") = (Z_(:, 0), Z_(:, 1))',) if kind == "answers" else ()
    return replace(written, maths=(*written.maths, *columns), values=values, case=kind)


def _with_rows(graph: ModuleGraph) -> ModuleGraph:
    """Return a graph in which a looked-up row or mean of rows is a part of an operand."""
    rows: dict[str, Operand] = {}
    for step in graph.of("look-up", "div"):
        operand = next(iter(step.tensors), Operand())
        while (made := graph.maker(operand)) is not None and made.operation in ("sum", "mul"):
            operand = next(iter(made.tensors), Operand())
        if made is not None and len(made.node.shape) == 3 > len(step.node.shape):
            rows[step.node.id] = Operand(operand.node, _MEAN if step.operation == "div" else _ROW)
    steps = (
        replace(step, operands=tuple(rows.get(o.node, o) for o in step.operands))
        for step in graph.steps
        if step.node.id not in rows
    )
    results = tuple((node, rows.get(o.node, o)) for node, o in graph.results)
    return replace(graph, steps=tuple(steps), results=results)


def _symbols(
    kind: str, view: ModuleView, graph: ModuleGraph, found: list[Step]
) -> Iterator[tuple[OperandKey, str]]:
    """Yield the symbols of hidden states, their rows, and a head's vectors."""
    for step in found:
        hidden = "X" if step is found[-1] else 'X_"enc"'
        for node in (part.node for part in step.parts or (step,)):
            if node.id in step.ids:
                yield (node.id, ()), hidden if len(node.shape) == 3 else "c"
                yield (node.id, _ROW), 'x_"end"'
                yield (node.id, _MEAN), "1/S sum_s x_s"
    vector = 'x_"end"' if _has_target_ids(view) else "c"
    for node in () if found else graph.inputs:
        yield (node.id, ()), "X" if len(node.shape) == 3 else vector
    for step in graph.of("linear")[-1:]:
        if any(operand == Operand(step.node.id, _ROW) for _, operand in graph.results):
            yield (step.node.id, ()), "Z"
            yield (step.node.id, _ROW), 'z_"end"'
        before = graph.maker(next(iter(step.tensors), None))
        if before is not None and before not in found and before.operation not in ("mul", "div"):
            yield (before.node.id, ()), "H" if len(before.node.shape) == 3 else "f"
    for step in graph.of("add", "sub"):
        given = [graph.given[o.node] for o in step.tensors if o.node in graph.given]
        symbol = _CONSTANTS.get((kind, step.operation))
        if graph.is_result(step) and symbol and given and given[0].kind == "constant":
            yield (given[0].id, ()), symbol


def _values(kind: str, view: ModuleView, graph: ModuleGraph, *, is_model: bool) -> Values:
    """Return the values for the texts of models and heads."""
    target, hides = _has_target_ids(view), is_causal(view.architecture)
    is_masked = view.architecture.source.task == "masked-lm" if hides is None else not hides
    language = "Encoder-decoder" if target else "Masked" if is_masked or not is_model else "Causal"
    context = ", using context on both sides" if language == "Masked" else " as the next token"
    weights = [f"{step.node.path}.weight" for step in graph.of("linear")[-1:]]
    tied = next((t.tied_to for t in view.architecture.parameters if t.name in weights), None)
    factors = ((_factor(step), step.node.shape[-1]) for step in graph.of("mul"))
    functions = [step.node.details.get("activation") for step in graph.steps[-2:-1]]
    is_image = any(node.name == "pixel values" for node in graph.inputs)
    is_vector = [len(node.shape) for node in graph.inputs] == [2] and not is_model
    end = "decoder’s last end-of-sequence token" if target else "last token that is not padding"
    read = "first token" if reads_first(view) else end if is_vector and target else ""
    biases = [view.tensors.get(name) for name in ("bias", "decoder.bias")]
    return {
        "what": "model" if is_model else "head",
        "role": "task model" if is_model else "language-model head" if kind == "words" else "head",
        "scores": _SCORES.get(kind, "two logits"),
        "end": end,
        "language": f"{language} language model" if is_model else "Language-model head",
        "use": context if is_model else "",
        "paper": _PAPERS[language] + ("; tied weights: Press & Wolf 2017" if tied else ""),
        "tied": tied,
        "bias": "bias" if any(each is not None and each.tied_to for each in biases) else "",
        "cap": _factor(graph.steps[-1]) if "tanh" in functions else "",
        "factor": next((n for n, d in factors if n and abs(d * float(n) ** 2 - 1) < 1e-3), ""),
        "masked": bool(graph.of("sub")),
        "data": "Image" if is_image else "Sequence",
        "whole": "image" if is_image else "sequence",
        "read": f" from the vector of the {read}" if read else "",
        "extra": "; the extra layer as in transformers’ code" if graph.of("linear")[1:] else "",
        "exclusive": scored_labels(view) != 1
        and view.config.get("problem_type") in (None, "single_label_classification"),
        "first": read == "first token",
        "last": read == end,
        "follows": "seq relationship logits" in io_names(view, "output"),
        "order": "sop logits" in io_names(view, "output"),
    }


def _factor(step: Step) -> str:
    """Return the literal by which a step multiplies, "" for none."""
    numbers = [o.plain for o in step.operands if o.plain.replace(".", "").isdecimal()]
    return numbers[0] if numbers and step.operation == "mul" else ""


_PAPERS = {
    "Encoder-decoder": "Vaswani et al. 2017, section 3.4; Lewis et al. 2020; Raffel et al. 2020",
    "Causal": "Radford et al. 2019, section 2",
    "Masked": _MASKED_LM,
}
_LOGITS = "Scores (logits) are not yet probabilities: softmax over the vocabulary converts them."
_NEXT = "Entry 0 of z scores “B follows A”, entry 1 “B is random”."
_ORDER = "Entry 0 scores the original order, entry 1 the swapped order."
TASK_MODELS = Template(
    "{role}",
    _task,
    keys=("width", "labels"),
    cases={
        "words": Template(
            title="{language}",
            summary="Assigns every position a score for each vocabulary entry{use}.",
            notes=(
                "The weight is tied: it is the same tensor as {tied}, listed under both names and "
                "counted once. A token’s row is used both to embed the token and to score it.",
                "“{bias}” and “decoder.bias” are two names for one tensor, which is added once.",
                "Before they are returned, the scores are limited to ±{cap} by a scaled tanh "
                "(soft-capping).",
                "The decoder’s output is multiplied by {factor}, 1 over the square root of the "
                "hidden size.",
                _LOGITS,
            ),
            keys=("vocabulary", "width", "embedding width", "tying"),
            source="{paper}",
        ),
        "pretraining": Template(
            title="Pretraining {what}",
            summary="Performs both pretraining tasks at once: scores every vocabulary entry at "
            "every position, and the relation of the two sentences.",
            notes=(_LOGITS, f"{{follows?}} {_NEXT}", f"{{order?}} {_ORDER}"),
            keys=("vocabulary", "width"),
            source="Devlin et al. 2019, section 3.1, tasks 1 and 2; Lan et al. 2020, section 3.1",
        ),
        "next sentence": Template(
            title="Next-sentence {what}",
            summary="Scores from the pooled output whether sentence B follows sentence A.",
            notes=(_NEXT,),
            keys=("width",),
            source="Devlin et al. 2019, section 3.1, task 2",
        ),
        "sentence order": Template(
            title="Sentence-order {what}",
            summary="Scores from the pooled output whether the two sentences are in the original "
            "order.",
            notes=(_ORDER,),
            keys=("width",),
            source="Lan et al. 2020, section 3.1",
        ),
        "discriminator": Template(
            title="Discriminator {what}",
            summary="Scores for every token whether it was replaced by a generator.",
            notes=("The sigmoid of a score is the probability that the token was replaced.",),
            keys=("width", "activation"),
            source="Clark et al. 2020, section 2",
        ),
        "classes": Template(
            title="{data} classification {what}",
            summary="Scores the classes for the whole {whole}{read}.",
            notes=(
                "{exclusive?} Softmax over the classes converts the scores to probabilities.",
                "{first?} It replaces a pooler, which this model does not have.",
                "{last?} The decoder’s last token has attended to the whole sequence; an encoder’s "
                "first token would serve as well, but here the decoder is read.",
            ),
            source="Devlin et al. 2019, section 4.1{extra}",
        ),
        "tokens": Template(
            title="Token classification {what}",
            summary="Scores the classes for every token.",
            notes=("Every token is scored from its own hidden state with the same weights.",),
            source="Devlin et al. 2019, section 5.3",
        ),
        "answers": Template(
            title="Question answering {what}",
            summary="Scores every token as the start and as the end of the answer.",
            notes=(
                "Here softmax runs over the positions, once for the start and once for the end.",
                "{masked?} The question is everything up to and including the first separator. "
                "The first token remains a candidate: it represents “no answer”.",
            ),
            source="Devlin et al. 2019, section 4.2",
        ),
    },
)
