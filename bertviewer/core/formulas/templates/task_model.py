"""Base models with a head: what the whole model computes for its task."""

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.facts import scored_labels, tells_classes_apart
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, Affine, number_maths, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.templates.activation import activation_term, operator_of
from bertviewer.core.formulas.templates.head import (
    LOGITS,
    MASKED_LM,
    NEXT_SENTENCE,
    is_first,
    reads_first,
    tying_notes,
)
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.parts import Part, Parts, layered, parts_of
from bertviewer.core.formulas.templates.start import input_term, length_of, title_case
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.frozen import frozen

_HIDDEN = Term("X", "last hidden state of the base model, one row per position")
_POOLED = Term("p", "pooled output: one vector for the sequence")
_FIRST = Term("x_0", "row of X of the first token")
_LAST = Term("x_e", "row of X of the last token that is not padding")
_END = Term("x_e", "row of X, the decoder’s output, at the last end-of-sequence token")
_LABELS = "labels"


@frozen
class _TaskModel:
    """A model with a head.

    Attributes:
        parts: the model's parts.
        bases: the children that compute the hidden state.
        shape: the shape of the hidden state.
        length: its number of positions, or the letter of it.
    """

    parts: Parts
    bases: tuple[Part, ...]
    shape: tuple[int, ...]
    length: int | str

    @property
    def view(self) -> ModuleView:
        """The model."""
        return self.parts.view

    @property
    def has_target(self) -> bool:
        """Whether the model reads two sequences."""
        names = {node.name for node in self.parts.graph.inputs}
        return "decoder input ids" in names


class _Head:
    """Writes the steps after the base model as lines of mathematics."""

    def __init__(self, model: _TaskModel) -> None:
        self._model = model
        self.lines: list[str] = []
        self.terms: list[Term] = []
        self.pooled = False
        self.affine: Affine | None = None
        self.last: Step | None = None
        self._linears = sum(
            step.operation == "linear" and len(part.steps) == 1
            for part in model.parts.parts
            if part.path not in {base.path for base in model.bases}
            for step in part.steps
        )
        self._written = 0

    def value(self, operand: Operand) -> str | None:
        """Return an operand as a symbol or a short expression."""
        model = self._model
        part = model.parts.maker(operand)
        if part is None:
            return None
        if part.path in {base.path for base in model.bases}:
            return self._of_base(operand)
        step = part.last
        if len(part.steps) > 1 or not step.operation:
            return self._call(part)
        return self._plain(step)

    def _of_base(self, operand: Operand) -> str:
        step = self._model.parts.graph.by_id[operand.node]
        if is_first(operand.parts):
            self._add(_FIRST)
            return "x_0"
        if len(step.node.shape) == 2:
            self.pooled = True
            self._add(_POOLED)
            return "p"
        return "X"

    def _plain(self, step: Step) -> str | None:
        tensors = [o for o in step.tensors if self._model.parts.maker(o) is not None]
        if step.operation == "look-up" and tensors:
            return self._picked(step, tensors[0])
        if len(tensors) != 1:
            return None
        if step.operation in ("div", "mean"):
            return self._mean(step, tensors[0])
        inner = self.value(tensors[0])
        if inner is None:
            return None
        if step.operation == "linear":
            return self._linear(step, inner)
        if step.operation == "activation":
            self._add(activation_term(step))
            return f"{operator_of(step)}({inner})"
        if is_norm(step):
            norm = Norm.of(step)
            self._add(*norm.terms)
            return f"{norm.operator}({inner})"
        return self._scaled(step, inner)

    def _scaled(self, step: Step, inner: str) -> str | None:
        numbers = [float(o.plain) for o in step.operands if o.plain]
        if step.operation == "mul" and len(numbers) == 1:
            width = step.node.shape[-1]
            if abs(numbers[0] ** -2 - width) < 1e-2:
                meaning = (
                    "factor applied to the decoder’s output: 1 over the square root of the hidden "
                    "size"
                )
                self._add(Term("c", meaning))
            else:
                self._add(Term("c", "constant factor", number_maths(numbers[0])))
            return f"c thick {inner}"
        return None

    def _linear(self, step: Step, inner: str) -> str | None:
        layer = self._model.view.affine_of(step)
        if layer is None:
            return None
        self._written += 1
        index = str(self._written) if self._linears > 1 else ""
        use = _use(self._model, step, last=self._written == self._linears)
        self._add(*layer.terms(use, index))
        self.affine, self.last = layer, step
        if inner in ("X", "T", "x_0", "x_e", "p", "v", "h"):
            rows = (self._model.length,) if inner in "XT" else ()
            sizes = inner not in ("T", "h", "p", "v", "x_e") or not index
            inner = sized(inner, *rows, layer.inputs) if inner != "T" and sizes else inner
        if inner.startswith("c thick X"):
            inner = inner.replace("X", sized("X", self._model.length, layer.inputs))
        return layer.maths(inner, index)

    def _call(self, part: Part) -> str | None:
        arguments = []
        result = self._model.parts.graph.results[0][1].node
        if result not in {step.node.id for step in part.steps} and reads_first(
            self._model.view.at(part.path)
        ):
            self._add(_FIRST)
            return f'"{title_case(part.name)}"(x_0)'
        for _, operand in part.inputs:
            if self._model.parts.maker(operand) is not None:
                value = self.value(operand)
                if value is None:
                    return None
                arguments.append(value)
        if not arguments:
            return None
        return f'"{title_case(part.name)}"({", ".join(arguments)})'

    def _picked(self, step: Step, operand: Operand) -> str | None:
        """Write one row of a tensor: of the last token, or the last end token."""
        part = self._model.parts.maker(operand)
        assert part is not None
        self._add(_END if self._model.has_target else _LAST)
        if part.path in {base.path for base in self._model.bases}:
            return "x_e"
        inner = self.value(operand)
        if inner is None:
            return None
        width = "" if self.affine is None else self.affine.inputs
        return inner.replace(sized("X", self._model.length, width), sized("x_e", width))

    def _mean(self, step: Step, operand: Operand) -> str | None:
        """Write the mean of the rows that are not padding."""
        for operation in ("sum", "mul"):
            made = self._model.parts.graph.maker(operand)
            if made is None:
                return None
            if made.operation == operation:
                operand = next(o for o in made.tensors if self._model.parts.maker(o) is not None)
        if self.value(operand) != "X":
            return None
        self._add(Term("x_s", "row of X at position s; padding is excluded"))
        return f"1/{self._model.length} sum_s x_s"

    def _add(self, *terms: Term) -> None:
        self.terms += [term for term in terms if term not in self.terms]


def _use(model: _TaskModel, step: Step, *, last: bool) -> str:
    """Return whose weight a linear layer's is, in words."""
    if not last:
        return "the first linear layer"
    outputs = step.node.shape[-1]
    if outputs == model.view.config.get("vocab_size"):
        return "the language-model head"
    return "the score layer" if step.node.name == "score" else "the classifier"


def _read(view: ModuleView) -> _TaskModel | None:
    parts = parts_of(view)
    if parts is None or view.node.path or not parts.graph.results:
        return None
    bases = layered(parts)
    if not bases or parts.graph.results[0][0].name == "last hidden state":
        return None
    own = {part.path for part in bases}
    rest = [part for part in parts.parts if part.path not in own]
    hidden = [
        step
        for part in rest
        for _, operand in part.inputs
        if (made := parts.maker(operand)) is not None
        and made.path in own
        and (step := parts.graph.maker(operand)) is not None
        and len(step.node.shape) == 3
    ]
    inside = [step for step in bases[-1].steps if len(step.node.shape) == 3]
    shape = (hidden or inside or [bases[-1].last])[-1].node.shape
    if len(shape) == 3 and shape[1] == view.width != shape[2]:
        shape = (shape[0], shape[2], shape[1])  # SqueezeBERT has the features first
    return _TaskModel(parts, bases, shape, length_of(view, shape))


def _task_model(view: ModuleView) -> Formula | None:
    model = _read(view)
    if model is None:
        return None
    names = [node.name for node, _ in model.parts.graph.results]
    task = view.architecture.source.task
    if "start logits" in names:
        return _question_answering(model)
    logits = model.parts.graph.results[0][0]
    words = view.config.get("vocab_size")
    if task == "next-sentence":
        return _next_sentence(model)
    if task == "pretraining" and len([n for n in names if "logits" in n]) == 2:
        return _pretraining(model)
    if len(logits.shape) == 3 and logits.shape[-1] == words:
        return _language_model(model)
    if task == "pretraining" and len(logits.shape) == 2:
        return _discriminator(model)
    if len(logits.shape) == 2 and logits.shape[-1] == scored_labels(view):
        return _sequence_classification(model)
    if len(logits.shape) == 3 and logits.shape[-1] == scored_labels(view):
        return _token_classification(model)
    return None


def _base(model: _TaskModel, *, pooled: bool = False) -> str:
    """Return the line in which the base model computes its hidden state, and a pooled one."""
    view = model.view
    width = view.width if isinstance(view.width, int) else model.shape[-1]
    result = sized("X", model.length, width) + (f", {sized('p', width)}" if pooled else "")
    inputs = _ids(model)
    if model.has_target:
        return f'{result} = "Base"({inputs[0].symbol}, {sized("u", "S")})'
    symbol = inputs[0].symbol
    return f'{result} = "Base"({sized("t", "S") if symbol == "t" else symbol})'


def _ids(model: _TaskModel) -> tuple[Term, ...]:
    """Return the terms of what the model reads."""
    nodes = [n for n in model.parts.graph.inputs if "mask" not in n.name and "type" not in n.name]
    if model.has_target:
        first = next((n for n in nodes if "decoder" not in n.name), None)
        is_text = first is None or first.name == "input ids"
        return (
            Term("t", "token ids of the encoder’s input")
            if first is None or is_text
            else input_term(first),
            Term("u", "token ids of the decoder’s input, shifted by one position", "[S]"),
        )
    return (Term("t", "token ids", "[S]"),) if not nodes else (input_term(nodes[0]),)


def _language_model(model: _TaskModel) -> Formula:
    """A score for every vocabulary entry at every position."""
    view, graph = model.view, model.parts.graph
    head = _Head(model)
    hides = is_causal(view.architecture)
    masked = view.architecture.source.task == "masked-lm"
    causal = model.has_target or (not masked if hides is None else hides)
    lines, terms = _vocabulary_lines(model, head)
    kind = "Encoder-decoder language model" if model.has_target else "Causal language model"
    tying = () if head.last is None else tying_notes(view, head.last)
    return Formula(
        title=kind if causal else "Masked language model",
        summary="Assigns every position a score for each vocabulary entry as the next token."
        if causal
        else "Assigns every position a score for each vocabulary entry, using context on both "
        "sides.",
        maths=(_base(model), *lines),
        terms=(
            *((TOKENS,) if model.length == "S" else ()),
            *_ids(model),
            _HIDDEN,
            *terms,
            Term("L", "logits, one per vocabulary entry"),
        ),
        notes=(*tying, *_cap_notes(graph.results[0][1], model), LOGITS),
        config_keys=view.keys("vocabulary", "width", "tying"),
        source=_language_source(model.has_target, causal),
    )


def _cap_notes(operand: Operand, model: _TaskModel) -> tuple[str, ...]:
    """Say that a tanh keeps the scores within limits (Gemma 2)."""
    graph = model.parts.graph
    scaled = graph.maker(operand)
    squashed = (
        None
        if scaled is None or scaled.operation != "mul"
        else graph.maker(next(iter(scaled.tensors), None))
    )
    if squashed is None or squashed.node.details.get("activation") != "tanh":
        return ()
    return ("Before they are returned, the scores are limited by a scaled tanh (soft-capping).",)


def _vocabulary_lines(model: _TaskModel, head: _Head) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    graph = model.parts.graph
    step = graph.maker(graph.results[0][1])
    buffer: tuple[Term, ...] = ()
    end = ""
    if step is not None and step.operation == "add":
        constants = [graph.given[o.node] for o in step.tensors if o.node in graph.given]
        linear = next((graph.maker(o) for o in step.tensors if o.node not in graph.given), None)
        if len(constants) == 1 and linear is not None:
            step, end = linear, ' + b_"final"'
            words = constants[0].shape[-1]
            buffer = (Term('b_"final"', "a buffer of zeros, not learnt", f"[1, {words}]"),)
    for _ in range(3):
        if step is not None and step.operation in ("mul", "div", "activation") and step.tensors:
            step = graph.maker(step.tensors[0])
    if step is None or step.operation != "linear":
        return ('L = "Head"(X)',), ()
    layer, source = model.view.affine_of(step), model.parts.maker(step.tensors[0])
    part = model.parts.by_step[step.node.id]
    if layer is None or len(part.steps) > 1 or step.node.path != part.path:
        return ('L = "Head"(X)',), ()
    bases = {base.path for base in model.bases}
    if source is None or source.path in bases or source.last.operation == "mul":
        value = head.value(Operand(step.node.id))
        if value is None:
            return ('L = "Head"(X)',), ()
        scores = f"{sized('L', model.length, layer.outputs)} = "
        if value.startswith("c thick"):
            return (f"{scores}{value}{end}, quad c = 1 / sqrt({layer.inputs})",), (
                *head.terms[1:],
                head.terms[0],
            )
        return (f"{scores}{value}{end}",), (*head.terms, *buffer)
    head.last = step
    scores = f"{sized('L', model.length, layer.outputs)} = {layer.maths('T', '2')}{end}"
    last_terms = layer.terms("the vocabulary scores", "2")
    if len(source.steps) > 1 or not source.last.operation:
        term = Term("T", "output of the head’s transform")
        return ('T = "Transform"(X)', scores), (term, *last_terms, *buffer)
    return _written_transform(model, source, scores, last_terms)


def _written_transform(
    model: _TaskModel, source: Part, scores: str, last: tuple[Term, ...]
) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """Return the lines of a transform that the model's own code computes (DistilBERT)."""
    graph = model.parts.graph
    norm, step = None, source.last
    if is_norm(step):
        norm, before = Norm.of(step), graph.maker(step.tensors[0])
        step = before or step
    act = step if step.operation == "activation" else None
    linear = graph.maker(step.tensors[0]) if act is not None else step
    first = None if linear is None else model.view.affine_of(linear)
    if first is None:
        return ('L = "Head"(X)',), ()
    inner = first.maths(sized("X", model.length, first.inputs), "1")
    if act is not None:
        inner = f"{operator_of(act)}({inner})"
    if norm is not None:
        inner = f"{norm.operator}({inner})"
    line = f"{sized('T', model.length, first.outputs)} = {inner}"
    return (line, scores), (*first.terms("the transform", "1"), *last)


def _language_source(both: bool, causal: bool) -> str:
    if both:
        return "Vaswani et al. 2017, section 3.4; Lewis et al. 2020; Raffel et al. 2020"
    return "Radford et al. 2019, section 2" if causal else MASKED_LM


def _sequence_classification(model: _TaskModel) -> Formula | None:
    """One score per class for the whole sequence (Devlin et al. 2019, section 4.1)."""
    head = _Head(model)
    lines = _class_lines(model, head)
    if lines is None:
        return None
    is_image = _ids(model)[0].symbol in "IFa"
    return _task(
        model,
        "Image classification model"
        if _ids(model)[0].symbol == "I"
        else "Sequence classification model",
        f"Scores the classes for the whole {'input' if is_image else 'sequence'}.",
        maths=(_base(model, pooled=head.pooled), *lines),
        terms=(*head.terms, Term("z", "logits, one per class")),
        source="Devlin et al. 2019, section 4.1",
        note=Note(
            "Softmax over the classes converts the scores to probabilities.", tells_classes_apart
        ),
        labels=True,
    )


def _class_lines(model: _TaskModel, head: _Head) -> tuple[str, ...] | None:
    """Return the lines from the hidden state to the classes' scores."""
    graph = model.parts.graph
    result = graph.results[0][1]
    part = model.parts.maker(result)
    if part is None or part.path in {base.path for base in model.bases}:
        return None
    step = part.last
    if len(part.steps) > 1 or not step.operation:
        value = head.value(result)
        return None if value is None else (f"z = {value}",)
    if step.operation == "linear":
        before = model.parts.maker(step.tensors[0])
        if before is not None and before.path not in {base.path for base in model.bases}:
            return _two_lines(model, head, step, before)
    value = head.value(result)
    outputs = graph.results[0][0].shape[-1]
    return None if value is None else (f"{sized('z', outputs)} = {value}",)


def _two_lines(model: _TaskModel, head: _Head, step: Step, before: Part) -> tuple[str, ...] | None:
    """Return a line for what precedes the last linear layer, and one for the scores."""
    layer = model.view.affine_of(step)
    inner = head.value(step.tensors[0])
    if layer is None or inner is None:
        return None
    is_closed = len(before.steps) > 1 or not before.last.operation
    symbol = "v" if is_closed else "h"
    index = "2" if not is_closed and head.affine is not None else ""
    if is_closed:
        meaning = (
            "pooled vector: one for the sequence"
            if "pool" in before.name
            else "output of the head’s transform: one vector for the sequence"
        )
        head.terms.append(Term("v", meaning))
    shown = sized(symbol, layer.inputs)
    head.terms += layer.terms("the classifier", index)
    argument = symbol if index else sized(symbol, layer.inputs)
    return (
        f"{shown} = {inner}",
        f"{sized('z', layer.outputs)} = {layer.maths(argument, index)}",
    )


def _position_scores(
    model: _TaskModel, use: str
) -> tuple[tuple[str, ...], tuple[Term, ...], Affine] | None:
    """Return the lines in which every position is scored by a linear layer."""
    graph = model.parts.graph
    step = graph.maker(graph.results[0][1])
    layer = None if step is None or step.operation != "linear" else model.view.affine_of(step)
    if step is None or layer is None:
        return None
    before = model.parts.maker(step.tensors[0])
    lines: list[str] = []
    terms: list[Term] = []
    argument = "X"
    if before is not None and before.path not in {base.path for base in model.bases}:
        if len(before.steps) == 1 and before.last.operation:
            return None
        argument = "T"
        lines.append(f'T = "{title_case(before.name)}"(X)')
        terms.append(Term("T", "output of the head’s transform"))
    scores = layer.maths(sized(argument, model.length, layer.inputs))
    lines.append(f"{sized('Z', model.length, layer.outputs)} = {scores}")
    return tuple(lines), (*terms, *layer.terms(use)), layer


def _token_classification(model: _TaskModel) -> Formula | None:
    """One score per class for every token (Devlin et al. 2019, section 5.3)."""
    found = _position_scores(model, "the classifier")
    if found is None:
        return None
    lines, terms, layer = found
    return _task(
        model,
        "Token classification model",
        "Scores the classes for every token.",
        maths=(_base(model), *lines),
        terms=(*terms, Term("Z", "logits", f"[{model.length}, {layer.outputs}]")),
        source="Devlin et al. 2019, section 5.3",
        note="Every token is scored from its own hidden state with the same weights.",
        labels=True,
    )


def _question_answering(model: _TaskModel) -> Formula | None:
    """Where an answer starts and ends (Devlin et al. 2019, section 4.2)."""
    graph = model.parts.graph
    step = graph.maker(graph.results[0][1])
    if step is not None and step.operation == "sub":
        return _masked_answers(model)
    found = _position_scores(model, "the span head")
    if found is None:
        return None
    lines, terms, layer = found
    return _task(
        model,
        "Question answering model",
        "Scores every token as the start and as the end of the answer.",
        maths=(_base(model), *lines, '(z_"start", z_"end") = (Z_(:, 0), Z_(:, 1))'),
        terms=(*terms, Term("Z", "logits", f"[{model.length}, {layer.outputs}]")),
        source="Devlin et al. 2019, section 4.2",
        note="Here softmax runs over the positions, once for the start and once for the end.",
        labels=True,
    )


def _masked_answers(model: _TaskModel) -> Formula:
    """The question's own tokens are excluded as answers (BigBird; transformers' code)."""
    view = model.view
    return Formula(
        title="Question answering model",
        summary="Scores every token as the start and as the end of the answer.",
        maths=(
            f'{sized("X", "S", view.width)} = "Base"({sized("t", "S")}), quad Z = "Head"(X)',
            'z_"start" = Z_(:, 0) - 10^6 q, quad z_"end" = Z_(:, 1) - 10^6 q',
        ),
        terms=(
            TOKENS,
            Term("t", "token ids", "[S]"),
            _HIDDEN,
            Term("Z", "start and end scores", "[S, 2]"),
            Term("q", "1 for the question’s tokens, 0 for the first token and for the text"),
        ),
        notes=(
            "The question is everything up to and including the first separator. The first token "
            "remains a candidate: it represents “no answer”.",
        ),
        config_keys=view.keys("width", _LABELS),
        source="Devlin et al. 2019, section 4.2; q as in transformers’ code",
    )


def _next_sentence(model: _TaskModel) -> Formula:
    """Does sentence B follow sentence A? (Devlin et al. 2019, section 3.1, task 2)."""
    return _task(
        model,
        "Next-sentence model",
        "Scores whether sentence B follows sentence A.",
        maths=(_base(model, pooled=True), 'z = "Head"(p)'),
        terms=(_POOLED, Term("z", "two logits", "[2]")),
        source="Devlin et al. 2019, section 3.1, task 2",
        note=NEXT_SENTENCE,
    )


def _discriminator(model: _TaskModel) -> Formula:
    """Was a token replaced? (Clark et al. 2020, section 2)."""
    return _task(
        model,
        "Discriminator",
        "Scores for every token whether it was replaced by a generator.",
        maths=(_base(model), f'{sized("z", "S")} = "Discriminator"(X)'),
        terms=(Term("z", "one logit per token", "[S]"),),
        source="Clark et al. 2020, section 2",
        note="The sigmoid of a score is the probability that the token was replaced.",
    )


def _pretraining(model: _TaskModel) -> Formula:
    """The model with the heads that it was pretrained with."""
    results = model.parts.graph.results
    order = any("sop" in node.name for node, _ in results)
    second = '"SentenceOrder"(p)' if order else '"NextSentence"(p)'
    return _task(
        model,
        "Pretraining model",
        "Performs both pretraining tasks at once: scores every vocabulary entry at every "
        "position, and the relation of the two sentences.",
        maths=(_base(model, pooled=True), f'L = "Predictions"(X), quad z = {second}'),
        terms=(
            _POOLED,
            Term("L", "logits, one per vocabulary entry"),
            Term("z", "two logits"),
        ),
        source="Lan et al. 2020, section 3.1" if order else "Devlin et al. 2019, section 3.1",
        note=LOGITS,
    )


def _task(
    model: _TaskModel,
    title: str,
    summary: str,
    *,
    maths: tuple[str, ...],
    terms: tuple[Term, ...],
    source: str,
    note: str,
    labels: bool = False,
) -> Formula:
    return Formula(
        title=title,
        summary=summary,
        maths=maths,
        terms=(*((TOKENS,) if model.length == "S" else ()), *_ids(model), _HIDDEN, *terms),
        notes=(note,),
        config_keys=model.view.keys("width", *((_LABELS,) if labels else ())),
        source=source,
    )


TASK_MODEL = Template("task model", _task_model)
