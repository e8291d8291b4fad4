"""The steps inside a layer in a run: values from replaying it, and code that computes them."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from typing import Any

import numpy as np
from torch import Tensor, nn

from bertviewer.core.building.backend import transformers
from bertviewer.core.graph.patterns.finding import find_patterns
from bertviewer.core.graph.trace import Ref
from bertviewer.core.graph.trace_graph import ACTIVATION, Graph, is_linear
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.layer_code import MAX_LENGTH, Assignment, Keeper, LayerCode
from bertviewer.core.replay.module_tensors import named_values
from bertviewer.core.runs.module_replay import replay_call
from bertviewer.core.schema.activation_run import TensorKey
from bertviewer.core.tensors.inside_layer import HEAD, InsideLayer, LayerStep
from bertviewer.core.tensors.reduction import Corner, corner_of
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.text import joined, lower_first, upper_first

_ROLES = (("q", "queries"), ("k", "keys"), ("v", "values"))
_NORMS = frozenset({"layer norm", "rms norm", "group norm", "batch norm", "instance norm"})
_RESERVED = (
    *("x", "y", "layer", "model", "inputs", "output", "calls", "forward", "args", "kwargs"),
    *("torch", "transformers", "folder", "F"),
)
_ONE_HEAD = ("scores", "softmax", "weighted")
MAX_INLINE = 60
"""Maximum length of an expression that is part of another one."""


def inside_layer(cached: CachedRun, path: str, progress: Progress = no_progress) -> InsideLayer:
    """Replay the first call of a layer, and return its steps.

    Raises:
        UserError: it cannot be replayed, or its operations cannot be written as code.
        Cancelled: by ``progress``.
    """
    if cached.run.activation(path) is None:
        raise UserError(f"{path} was not called in this run or returned no tensor")
    tracer = Keeper(cached.module(progress), path)
    with tracer.watching():
        replay_call(cached.model, cached.cache, path, lambda _: None, lambda _: None, progress)
    trace = tracer.trace()
    try:
        code = LayerCode(trace, tracer.tensors, tracer, path)
        return _Steps(cached, code, Graph(trace)).inside()
    except LookupError as error:
        raise UserError(f"{path}: its steps cannot be written as code: {error}") from error


class _Steps:
    """Names the values of a layer's code, and divides it into steps."""

    def __init__(self, cached: CachedRun, code: LayerCode, graph: Graph) -> None:
        self._cached = cached
        self._code = code
        self._graph = graph
        self._patterns = find_patterns(graph)
        self._names: dict[int, str] = {}
        self._inputs: dict[str, str] = {}
        self._titles: dict[int, str] = {}
        self._texts: dict[int, str] = {}
        self._numbers = dict.fromkeys(_RESERVED, 1)
        self._written: set[int] = set()

    def inside(self) -> InsideLayer:
        """Return the steps."""
        code, call = self._code, self._code.call
        data = [(name, code.same(value)) for name, value in call.inputs]
        if not data or code.output not in code.made:
            raise LookupError("it computes nothing")
        x_name, x = next((it for it in data if self._is_data(it[1])), data[0])
        self._names[x] = "x"
        self._names[code.output] = "y"
        self._name_roles()
        keys = [each for each in code.assignments if self._is_key(each)]
        steps = [LayerStep("Input", "x", (), self._corner(x_name, x, "input"))]
        for each in keys:
            (value,) = each.results
            lines = tuple(self._lines(each))
            name = self._names[value]
            is_head = each.kind in _ONE_HEAD and code.tensors[value].dim() > 2
            title = self._titles[value] + (HEAD if is_head else "")
            corner = self._corner(name, value, "output")
            steps.append(LayerStep(title, name, lines, corner, is_head))
        setup = [*self._setup(x)]
        if any("F." in line for step in steps for line in step.code):
            setup.insert(1, "import torch.nn.functional as F")
        return InsideLayer(code.path, tuple(setup), tuple(steps))

    # Keys: the values that are shown

    def _is_data(self, value: int) -> bool:
        return self._graph.level[value] == ACTIVATION and self._is_float(value)

    def _is_float(self, value: int) -> bool:
        return self._code.tensors[value].is_floating_point()

    def _name_roles(self) -> None:
        """Name the modules' outputs that an attention uses as queries, keys and values."""
        code = self._code
        found: dict[int, list[int]] = {}
        for each in code.assignments:
            sides: tuple[int, ...] = ()
            if each.kind == "scores" and len(each.reads) == 2 and each.reads[0] not in found:
                sides = () if self._reads_scores(each) else (0, 1)
            elif each.kind == "weighted":
                sides = (2,)
            for side in sides:
                value = each.reads[1 if side else 0]
                if value in code.made and code.made[value].kind != "call":
                    self._name(value, _ROLES[side][0].upper())
                if (maker := self._projection(value)) is not None:
                    found.setdefault(maker, []).append(side)
        for value, given in found.items():
            roles = [_ROLES[side] for side in sorted(set(given))]
            self._name(value, "".join(short for short, _ in roles))
            self._titles[value] = upper_first(joined([word for _, word in roles]))

    def _reads_scores(self, each: Assignment) -> bool:
        return any(
            read in self._code.made and self._code.made[read].kind == "scores"
            for read in each.reads
        )

    def _projection(self, value: int) -> int | None:
        """Return the output of the module that a value was computed from, without sums."""
        while (maker := self._code.made.get(value)) is not None:
            if maker.kind == "call":
                return value
            data = [read for read in maker.reads if read in self._code.made]
            if not data:
                return None
            value = data[0]
        return None

    def _is_key(self, each: Assignment) -> bool:
        """Return whether an assignment is a step, and name it."""
        if len(each.results) > 1 or not self._is_float(each.results[0]):
            return False
        (value,) = each.results
        title = self._titles.get(value) or self._title(each)
        if value == self._code.output:
            title = f"Output ({lower_first(title)})" if title else "Output"
        users = self._code.users(value)
        is_single = len(users) == 1 and each.kind in ("sum", "scores")
        if is_single and value != self._code.output:
            # Scores before a mask are a part of those after it; a sum, of its norm.
            is_normed = any(self._pattern(number) in _NORMS for number in users[0].operations)
            if each.kind == users[0].kind == "scores" or is_normed:
                return False
        if title:
            self._titles[value] = title
            base = {"scores": "scores", "softmax": "weights", "weighted": "context"}.get(each.kind)
            self._name(value, base or "h")
        return bool(title)

    def _title(self, each: Assignment) -> str:
        """Return what an assignment computes, "" if it is no step."""
        known = {self._pattern(number) for number in each.operations}
        linears = sum(is_linear(self._graph, number) for number in each.operations)
        match each.kind:
            case "scores":
                return "Scores"
            case "softmax":
                return "Softmax"
            case "weighted":
                return "Weighted values"
            case "sum":
                return "Residual sum" if "residual" in known else ""
            case "call" if "attention" in known:
                return "Attention"
            case "call" if known & _NORMS and not linears:
                norm = (known & _NORMS).pop().replace("rms", "RMS")
                sums = (read for read in each.reads if self._is_inner_sum(read))
                return f"Residual sum and {norm}" if any(sums) else upper_first(norm)
            case "call" if linears:
                return self._linear_title(each, is_single=linears == 1)
            case "call" if "activation" in known:
                return "Activation"
            case "call" if (
                "position bias" in known or self._graph.words[each.operations[0]] == "embedding"
            ):
                return "Position bias"
            case "call":
                return f"Module {each.path.rpartition('.')[2]}"
        return ""

    def _pattern(self, number: int) -> str:
        found = self._patterns.inner.get(number)
        return "" if found is None else found.operation

    def _is_inner_sum(self, value: int) -> bool:
        maker = self._code.made.get(value)
        return maker is not None and maker.kind == "sum" and len(self._code.users(value)) == 1

    def _linear_title(self, each: Assignment, *, is_single: bool) -> str:
        name = each.path.rpartition(".")[2]
        outer = {found.operation for n in each.operations if (found := self._patterns.outer.get(n))}
        if outer & {"feed-forward", "gated feed-forward"}:
            return f"Feed-forward: {each.path.removeprefix(f'{self._code.path}.')}"
        value = each.reads[0]
        while (
            (maker := self._code.made.get(value)) is not None and maker.kind == "" and maker.reads
        ):
            value = maker.reads[0]
        if maker is not None and maker.kind == "weighted":
            return "Output projection"
        return f"Linear layer {name}" if is_single else f"Module {name}"

    # Code

    def _new_name(self, base: str) -> str:
        self._numbers[base] = number = self._numbers.get(base, 0) + 1
        return base if base not in ("h", "t") and number == 1 else f"{base}{number}"

    def _lines(self, each: Assignment) -> Iterator[str]:
        """Yield the lines of an assignment, after those that it needs."""
        if not self._written.isdisjoint(each.results):
            return
        self._written.update(each.results)
        for read in dict.fromkeys(each.reads):
            yield from self._before(read)
        text = each.write(self._text)
        names = ", ".join(
            self._name(it, "t") if self._code.users(it) or it == self._code.output else "_"
            for it in each.results
        )
        yield f"{names} = {text}"

    def _name(self, value: int, base: str) -> str:
        """Return the name of a value, a new one with this beginning if it has none."""
        if value not in self._names:
            self._names[value] = self._new_name(base)
        return self._names[value]

    def _before(self, value: int) -> Iterator[str]:
        """Yield the lines of a value that is not a part of the next expression."""
        maker = self._code.made.get(value)
        if maker is None or not self._written.isdisjoint(maker.results) or value in self._texts:
            return
        if maker.kind == "scores":  # before the mask
            self._names.setdefault(value, "scores")
        is_named = (
            value in self._names or len(maker.results) > 1 or len(self._code.users(value)) > 1
        )
        if not is_named:
            for read in dict.fromkeys(maker.reads):
                yield from self._before(read)
            text = maker.write(self._text)
            if len(text) <= MAX_INLINE:
                self._texts[value] = text if maker.is_atom else f"({text})"
                return
        yield from self._lines(maker)

    def _text(self, value: int) -> str:
        """Return the code of a value: its name, or the expression itself."""
        if value in self._texts:
            return self._texts[value]
        if value not in self._names:
            name = next(
                (name for name, it in self._code.call.inputs if self._code.same(it) == value), None
            )
            if name is None or value in self._code.made:
                raise LookupError(f"value {value} has no name")
            self._names[value] = self._input_name(name)
        return self._names[value]

    def _input_name(self, name: str) -> str:
        """Return a new name for an argument of the layer."""
        plain = name.replace(".", "_")
        found = self._new_name(plain if plain.isidentifier() and not iskeyword(plain) else "input")
        self._inputs[found] = name
        return found

    def _setup(self, x: int) -> Iterator[str]:
        """Yield the lines that run the model and define the inputs of the layer."""
        state = self._state(x)
        is_random = self._cached.run.source.weights == "random"
        yield from _model_lines(self._cached.model.running_module, is_random)
        yield from _input_lines(self._cached.cache.inputs)
        names = self._inputs
        if state is None:
            name = next(name for name, it in self._code.call.inputs if self._code.same(it) == x)
            names = {"x": name, **names}
        yield f"layer = model.get_submodule({_quoted(self._code.path)})"
        if names:
            yield "calls, forward = [], layer.forward"
            yield "layer.forward = lambda *args, **kwargs: ("
            yield "    calls.append((args, kwargs)) or forward(*args, **kwargs)"
            yield ")"
        yield f"output = model(**inputs{'' if state is None else ', output_hidden_states=True'})"
        if state is not None:
            yield f"x = output.hidden_states[{state}]"
        if names:
            yield "args, kwargs = calls[0]"
        for plain, name in names.items():
            yield f"{plain} = {self._access(name)}"

    def _access(self, name: str) -> str:
        """Return the code of an argument of the layer."""
        value = next(it for known, it in self._code.call.inputs if known == name)
        args, kwargs = self._code.arguments_of(self._code.call)
        found = _place(args, value)
        if found is not None:
            return f"args{found}"
        found = _place(dict(kwargs), value)
        if found is None:
            raise LookupError(f"{name} is not an argument")
        return f"kwargs{found}"

    # Values

    def _corner(self, name: str, value: int, side: str) -> Corner:
        key = TensorKey("input" if side == "input" else "output", name)
        return corner_of(
            named_values(self._cached, self._code.path, key, self._code.tensors[value])
        )

    def _state(self, value: int) -> int | None:
        """Return the hidden state of the model's output that a value is."""
        if self._cached.model.architecture.is_encoder_decoder:
            return None
        tensor = self._code.tensors[value]
        if tensor.dim() != 3 or tensor.shape[0] != 1:
            return None
        found = tensor[0].float().cpu().numpy()
        states = enumerate(self._cached.run.hidden_states)
        return next((n for n, it in states if np.array_equal(it, found, equal_nan=True)), None)


def _model_lines(module: nn.Module, is_random: bool) -> Iterator[str]:
    """Yield the imports, and the line that loads the model if transformers can do so."""
    name = type(module).__name__
    is_known = not is_random and getattr(transformers, name, None) is type(module)
    yield "import torch, transformers" if is_known else "import torch"
    if is_known:
        yield f"model = transformers.{name}.from_pretrained(folder).eval()"


def _input_lines(inputs: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that define the arguments of the model, except defaults."""
    yield "inputs = {"
    for name, given in inputs.items():
        if not isinstance(given, Tensor) or _is_default(name, given):
            continue
        value = f"torch.tensor({given.tolist()})"
        yield from textwrap.wrap(
            f"{_quoted(name)}: {value},",
            MAX_LENGTH,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
        )
    yield "}"


def _is_default(name: str, given: Tensor) -> bool:
    is_mask = name.endswith("attention_mask") and bool((given == 1).all())
    return is_mask or (name == "token_type_ids" and not given.any())


def _quoted(text: str) -> str:
    """Return a string of Python, in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def _place(container: object, value: int) -> str | None:
    """Return the code of an item in nested containers, such as ``["position"][0]``."""
    if isinstance(container, Ref):
        return "" if container.value == value else None
    items: list[tuple[object, object]] = []
    if isinstance(container, dict):
        items = list(container.items())
    elif isinstance(container, tuple | list):
        items = list(enumerate(container))
    for key, item in items:
        if (found := _place(item, value)) is not None:
            return f"[{_quoted(key) if isinstance(key, str) else key}]{found}"
    return None
