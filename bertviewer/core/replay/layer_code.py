"""A traced call of a module as PyTorch code: one assignment for each value that is needed.

Submodules without submodules are called; everything else is written as the operations of the
trace. Fused attention is written out as scores, softmax and weighted values.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Literal

import torch
from msgspec import Struct
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.graph.module_calls import Arguments
from bertviewer.core.graph.operation_names import word_of
from bertviewer.core.graph.trace import Argument, Call, Operation, Ref, Trace, ValueKind, Word
from bertviewer.core.graph.tracing import VIEW, OpenCall, Tracer

MAX_LENGTH = 88
"""Maximum length of a line, if it can be divided."""
_MAX_OPENED = 40
"""A submodule with more assignments is called instead."""
_FUSED = "scaled_dot_product_attention"
_SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "matmul": "@", "pow": "**"},
    **{"and": "&", "or": "|"},
}
_SIGNS = {"neg": "-", "invert": "~"}
_REVERSED = {"rsub": "-", "rdiv": "/", "rpow": "**"}
_COPIES = frozenset(
    [
        "dropout",
        "contiguous",
        "to",
        "type",
        "type_as",
        "float",
        "clone",
        "view",
        "view_as",
        "reshape",
        "cat",
        "detach",
        "add",
    ]
)
"""Operations that may return their operand unchanged."""
_SHAPES = ("reshape", "permute", "expand")
_OMITTED = ("device", "inplace", "training", "_stacklevel")
_OBJECT = re.compile(r"torch\.\w+")

Kind = Literal["call", "sum", "product", "scores", "softmax", "weighted", ""]
"""What an assignment computes: a module's "call", a "sum" or "product" of two values, the "scores",
"softmax" and "weighted" values of an attention, or "" for others."""


CallArguments = tuple[tuple[Argument, ...], tuple[tuple[str, Argument], ...]]
"""The positional and the named arguments of a call; dictionaries in them are kept as such."""


class Keeper(Tracer):
    """A tracer that keeps the values of a module's call, and the arguments of all calls inside."""

    def __init__(self, model: nn.Module, path: str) -> None:
        super().__init__(model)
        self._kept_path = path
        self.tensors: dict[int, Tensor] = {}
        self.arguments: dict[tuple[str, int], CallArguments] = {}

    def _enter(self, path: str, kind: type[nn.Module], arguments: Arguments) -> OpenCall:
        opened = super()._enter(path, kind, arguments)
        if f"{path}.".startswith(f"{self._kept_path}."):
            with torch._C.DisableTorchFunction():
                taken: dict[int, Tensor] = {}
                args, kwargs = self._operand(arguments, taken)
                for tensor in taken.values():
                    self._keep(self._number(tensor), tensor)
            self.arguments[path, opened[1].number] = args, tuple(kwargs.items())
        return opened

    def _operand(self, value: Any, taken: dict[int, Tensor]) -> Any:
        if isinstance(value, dict):
            return {key: self._operand(item, taken) for key, item in value.items()}
        return super()._operand(value, taken)

    def _new(self, tensor: Tensor, kind: ValueKind = "result", name: str = "") -> int:
        number = super()._new(tensor, kind, name)
        if kind not in ("parameter", "buffer") and f"{self.path}.".startswith(
            f"{self._kept_path}."
        ):
            self._keep(number, tensor)
        return number

    def _keep(self, number: int, tensor: Tensor) -> None:
        if number not in self.tensors:
            # A copy, as it may be written to.
            self.tensors[number] = tensor.detach().clone()


class Assignment(Struct, frozen=True, eq=False):
    """An expression that computes values.

    Attributes:
        results: the values.
        reads: the values that it reads.
        write: returns its code, given a function that returns that of a value.
        kind: what it computes.
        path: the module that it calls, or that contains the operation.
        operations: the numbers of its operations in the trace.
        is_atom: whether it needs no brackets as an operand.
    """

    results: tuple[int, ...]
    reads: tuple[int, ...]
    write: Callable[[Callable[[int], str]], str]
    kind: Kind = ""
    path: str = ""
    operations: range = range(0)
    is_atom: bool = True


class LayerCode:
    """The assignments of a module's traced call, in the order of execution.

    Values that are the same have one number; values that the trace does not have are negative.

    Raises:
        LookupError: an operation cannot be written as code.
    """

    def __init__(
        self, trace: Trace, tensors: Mapping[int, Tensor], keeper: Keeper, path: str
    ) -> None:
        self.trace = trace
        self.tensors = dict(tensors)
        self.path = path
        self._arguments = keeper.arguments
        self._same: dict[int, int] = {}
        self.call = trace.calls[trace.calls_of[path][0]]
        assignments = self._opened(self.call)
        self.output = self.same(self.call.outputs[0][1])
        self.assignments = self._needed(_with_attention(assignments))
        self.made = {value: each for each in self.assignments for value in each.results}

    def same(self, value: int) -> int:
        """Return the first value with the same numbers in the same shape."""
        while value in self._same:
            value = self._same[value]
        return value

    def arguments_of(self, call: Call) -> CallArguments:
        """Return the positional and the named arguments of a call."""
        return self._arguments[call.path, call.number]

    def users(self, value: int) -> list[Assignment]:
        """Return the assignments that read a value."""
        return [each for each in self.assignments if value in each.reads]

    def _needed(self, assignments: Sequence[Assignment]) -> tuple[Assignment, ...]:
        needed, found = {self.output}, []
        for each in reversed(assignments):
            if needed.intersection(each.results):
                needed.update(each.reads)
                found.append(each)
        return tuple(reversed(found))

    def _opened(self, call: Call) -> list[Assignment]:
        """Return the assignments of a call and those of its submodules."""
        found: list[Assignment] = []
        place = call.start
        for child in self.trace.children(call):
            for number in range(place, child.start):
                found += self._operation(number, call.path)
            found += self._child(child)
            place = child.stop
        for number in range(place, call.stop):
            found += self._operation(number, call.path)
        return found

    def _child(self, call: Call) -> list[Assignment]:
        """Return a submodule's call, or its operations if it has submodules or an attention."""
        same = dict(self._same)
        words = {word_of(self.trace.operations[n].function) for n in call.operations}
        is_leaf = not any(child.operations for child in self.trace.children(call))
        if is_leaf and not words & {"softmax", _FUSED}:
            try:
                return self._called(call)
            except LookupError:
                return self._opened(call)
        try:
            opened = self._opened(call)
            if len(opened) > _MAX_OPENED and not words & {"softmax", _FUSED}:
                raise LookupError(call.path)
        except LookupError:
            self._same = same
            return self._called(call)
        return opened

    def _called(self, call: Call) -> list[Assignment]:
        args, kwargs = self._arguments[call.path, call.number]
        names = [name for name, _ in call.outputs]
        if len(names) != 1:
            raise LookupError(f"{call.path} has several outputs")
        part = f"[{names[0]}]" if names[0].isdigit() else f"[{names[0]!r}]" if names[0] else ""
        (value,) = (number for _, number in call.outputs)
        given = [number for _, number in call.inputs]
        taken = self.tensors[given[0]] if given else None
        if not part and taken is not None and _is_equal(self.tensors[value], taken):
            self._same[value] = given[0]
            return []
        reads, module = self._reads((args, kwargs)), self.module(call.path)
        # Arguments that are None are the defaults.
        named = tuple((key, argument) for key, argument in kwargs if argument is not None)

        def write(code: Callable[[int], str]) -> str:
            return f"{module}({_arguments(args, named, self._coded(code))}){part}"

        return [Assignment((value,), reads, write, "call", call.path, call.operations)]

    def module(self, path: str) -> str:
        """Return the code of a submodule."""
        if path == self.path:
            return "layer"
        parts = path.removeprefix(f"{self.path}.").split(".")
        if not all(part.isdecimal() or part.isidentifier() for part in parts):
            return f"layer.get_submodule({'.'.join(parts)!r})"
        return "layer" + "".join(f"[{it}]" if it.isdecimal() else f".{it}" for it in parts)

    def _operation(self, number: int, path: str) -> list[Assignment]:
        operation = self.trace.operations[number]
        word = word_of(operation.function)
        if operation.function == VIEW or word in _COPIES:
            made = operation.results[0]
            for read in operation.reads:
                if _is_equal(self.tensors[made], self._tensor(read)):
                    self._same[made] = read
                    return []
        if operation.rewritten:
            (written, *more), name = operation.rewritten, operation.function.rpartition(".")[2]
            is_functional = (
                operation.args[0] == Ref(written[0]) and operation.results == written[1:]
            )
            if more or not is_functional or not name.endswith("_"):
                raise LookupError(f"{operation.function} writes in place")
        if word == _FUSED:
            return list(self._attention(operation, path))
        reads = self._reads((operation.args, operation.kwargs))
        _written(operation, word, str)  # raises LookupError if it has no code

        def write(code: Callable[[int], str]) -> str:
            return _written(operation, word, self._coded(code))

        kind: Kind = "softmax" if word == "softmax" else ""
        if len(reads) == 2 and word in ("add", "matmul"):
            kind = "sum" if word == "add" else "product"
        is_atom = word not in {*_SYMBOLS, *_REVERSED, *_SIGNS}
        operations = range(number, number + 1)
        return [Assignment(operation.results, reads, write, kind, path, operations, is_atom)]

    def _attention(self, operation: Operation, path: str) -> Iterator[Assignment]:
        """Yield the steps of a fused attention."""
        names = (
            "query",
            "key",
            "value",
            "attn_mask",
            "dropout_p",
            "is_causal",
            "scale",
            "enable_gqa",
        )
        given: dict[str, Any] = dict(zip(names, operation.args, strict=False)) | dict(
            operation.kwargs
        )
        query, key, value = (self.same(given[name].value) for name in names[:3])
        q, k, v = map(self._tensor, (query, key, value))
        groups = q.shape[-3] // k.shape[-3] if given.get("enable_gqa") and k.shape[-3] else 1
        repeated = f".repeat_interleave({groups}, 1)" if groups > 1 else ""
        scale, size = given.get("scale"), q.shape[-1]
        factor = size**-0.5 if scale is None else scale
        if not isinstance(factor, float | int):
            raise LookupError("the scale is a tensor")
        times = "" if factor == 1 else f" * {f'{size} ** -0.5' if factor == size**-0.5 else factor}"
        if groups > 1:
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        scores = q @ k.mT * factor
        before = self._add(scores)

        def product(code: Callable[[int], str]) -> str:
            return f"{code(query)} @ {code(key)}{repeated}.mT{times}"

        yield Assignment((before,), (query, key), product, "scores", path, is_atom=False)
        mask = given.get("attn_mask")
        if given.get("is_causal"):
            later = torch.ones(scores.shape[-2:], device=scores.device).triu(1).bool()
            after, unmasked = self._add(scores.masked_fill(later, -inf)), before
            ones = f"torch.ones({scores.shape[-2]}, {scores.shape[-1]}).triu(1).bool()"

            def causal(code: Callable[[int], str]) -> str:
                return f"{code(unmasked)}.masked_fill({ones}, -torch.inf)"

            yield Assignment((after,), (before,), causal, "scores", path)
            before = after
        elif mask is not None:
            for masked in self._masked(before, self.same(mask.value), path):
                yield masked
                (before,) = masked.results
        total, weights = before, self._add(self.tensors[before].softmax(-1))
        yield Assignment((weights,), (total,), lambda c: f"{c(total)}.softmax(-1)", "softmax", path)

        def weighted(code: Callable[[int], str]) -> str:
            return f"{code(weights)} @ {code(value)}{repeated}"

        results = operation.results
        yield Assignment(results, (weights, value), weighted, "weighted", path, is_atom=False)

    def _masked(self, scores: int, mask: int, path: str) -> Iterator[Assignment]:
        """Yield the scores with a mask or bias, unless it changes nothing."""
        given, before = self._tensor(mask), self.tensors[scores]
        is_hiding = given.dtype == torch.bool
        if bool(given.all()) if is_hiding else not given.any():
            return
        after = self._add(before.masked_fill(~given, -inf) if is_hiding else before + given)

        def masked(code: Callable[[int], str]) -> str:
            if is_hiding:
                return f"{code(scores)}.masked_fill(~{code(mask)}, -torch.inf)"
            return f"{code(scores)} + {code(mask)}"

        yield Assignment((after,), (scores, mask), masked, "scores", path, is_atom=is_hiding)

    def _add(self, tensor: Tensor) -> int:
        """Return the number of a value that the trace does not have."""
        number = min(-1, min(self.tensors, default=0) - 1)
        self.tensors[number] = tensor
        return number

    def _tensor(self, value: int) -> Tensor:
        found = self.tensors.get(self.same(value), self.tensors.get(value))
        if found is None:
            raise LookupError(f"value {value} is not known")
        return found

    def _reads(self, operand: Argument | Iterable[Argument]) -> tuple[int, ...]:
        """Return the values in an operand that are not parameters or buffers."""
        found = []
        for value in _refs(operand):
            if self.trace.values[value].kind in ("parameter", "buffer"):
                continue
            number = self.same(value)
            if self._is_constant(number):
                self._literal(number)
                continue
            found.append(number)
        return tuple(found)

    def _is_constant(self, value: int) -> bool:
        """Return whether a value is a tensor of the code, not an input of the layer."""
        inputs = {number for _, number in self.call.inputs}
        return value >= 0 and self.trace.values[value].kind == "constant" and value not in inputs

    def _literal(self, value: int) -> str:
        tensor = self._tensor(value)
        if tensor.dim():
            raise LookupError("a tensor of the code is not known")
        return f"torch.tensor({_plain(tensor.item())}, dtype={tensor.dtype})"

    def _coded(self, code: Callable[[int], str]) -> Callable[[int], str]:
        """Return a function for the code of all values, also of parameters and constants."""

        def coded(value: int) -> str:
            found = self.trace.values[value] if value >= 0 else None
            if found is not None and found.kind in ("parameter", "buffer"):
                owner, _, name = found.name.rpartition(".")
                if not f"{owner}.".startswith(f"{self.path}."):
                    return f"model.get_{found.kind}({found.name!r})"
                module = self.module(owner)
                return f"{module}.{name}" if name.isidentifier() else f"{module}[{name}]"
            same = self.same(value)
            return self._literal(same) if self._is_constant(same) else code(same)

        return coded


def _with_attention(assignments: Sequence[Assignment]) -> list[Assignment]:
    """Return assignments with the kinds of the steps of attentions that are written out."""
    made = {value: place for place, each in enumerate(assignments) for value in each.results}
    found = list(assignments)
    for each in assignments:
        if each.kind != "softmax":
            continue
        steps, value = [], each.reads[0]
        while (place := made.get(value)) is not None and found[place].kind in (
            "",
            "sum",
            "product",
        ):
            steps.append(place)
            if found[place].kind == "product" or not found[place].reads:
                break
            value = found[place].reads[0]
        if steps and found[steps[-1]].kind == "product":
            for place in steps:
                found[place] = replace(found[place], kind="scores")
        weights = {each.results[0]}
        for place, user in enumerate(found):
            if user.kind == "product" and user.reads[0] in weights:
                found[place] = replace(user, kind="weighted")
            elif not user.kind and user.reads and weights.issuperset(user.reads):
                weights.update(user.results)
    return found


def _is_equal(one: Tensor, other: Tensor) -> bool:
    is_alike = one.shape == other.shape and one.dtype == other.dtype
    return is_alike and bool(torch.equal(one.nan_to_num(), other.nan_to_num()))


def _refs(operand: object) -> Iterator[int]:
    if isinstance(operand, Ref):
        yield operand.value
    elif isinstance(operand, dict):
        yield from _refs(tuple(operand.values()))
    elif isinstance(operand, tuple | list):
        for each in operand:
            yield from _refs(each)
    elif isinstance(operand, slice):
        yield from _refs((operand.start, operand.stop, operand.step))


def _written(operation: Operation, word: str, code: Callable[[int], str]) -> str:
    """Return an operation as code.

    Raises:
        LookupError: it or an operand cannot be written.
    """
    args, function = operation.args, operation.function
    kwargs = tuple(
        (key, value) for key, value in operation.kwargs if key not in _OMITTED and value is not None
    )
    short = function.removesuffix(".__get__").rpartition(".")[2]
    if word in _SYMBOLS and len(args) == 2 and not kwargs:
        return f"{_text(args[0], code)} {_SYMBOLS[word]} {_text(args[1], code)}"
    if word in _REVERSED and len(args) == 2 and not kwargs:
        return f"{_text(args[1], code)} {_REVERSED[word]} {_text(args[0], code)}"
    if word in _SIGNS:
        return f"{_SIGNS[word]}{_text(args[0], code)}"
    if word == "__getitem__":
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        return f"{_text(args[0], code)}[{', '.join(_text(each, code) for each in index)}]"
    if short.startswith("__"):
        raise LookupError(f"{function} has no code")
    short = short.removesuffix("_")
    if short == "view" and all(isinstance(each, int | tuple | list) for each in args[1:]):
        short = "reshape"  # of any layout: the code has no calls of contiguous()
    if function.startswith("torch.Tensor."):
        first, *others = args
        if short in _SHAPES and len(others) == 1 and isinstance(others[0], tuple | list):
            others = list(others[0])
        if function.endswith(".__get__"):
            return f"{_text(first, code)}.{short}"
        return f"{_text(first, code)}.{short}({_arguments(others, kwargs, code)})"
    if function.startswith(("torch.nn.functional.", "torch._C._nn.")):
        return f"F.{short}({_arguments(args, kwargs, code)})"
    if function.rpartition(".")[0] in ("torch", "torch.functional"):
        return f"torch.{short}({_arguments(args, kwargs, code)})"
    raise LookupError(f"{function} has no code")


def _arguments(
    args: Iterable[Argument],
    kwargs: Iterable[tuple[str, Argument]],
    code: Callable[[int], str],
) -> str:
    named = (f"{key}={_text(value, code, in_call=True)}" for key, value in kwargs)
    return ", ".join((*(_text(each, code, in_call=True) for each in args), *named))


def _text(operand: Argument, code: Callable[[int], str], *, in_call: bool = False) -> str:
    """Return an operand as code, in brackets where its precedence may require it.

    Raises:
        LookupError: it is an object.
    """
    if isinstance(operand, Ref):
        text = code(operand.value)
        return text.removeprefix("(").removesuffix(")") if in_call and _is_bracketed(text) else text
    if isinstance(operand, Word):
        if _OBJECT.fullmatch(operand.text):
            return operand.text
        raise LookupError(f"{operand.text} has no code")
    if isinstance(operand, slice):
        parts = (operand.start, operand.stop, operand.step)
        start, stop, step = ("" if part is None else _text(part, code) for part in parts)
        return f"{start}:{stop}" + (f":{step}" if step else "")
    if isinstance(operand, tuple | list):
        items = ", ".join(_text(item, code, in_call=True) for item in operand)
        if isinstance(operand, list):
            return f"[{items}]"
        return f"({items},)" if len(operand) == 1 else f"({items})"
    if isinstance(operand, dict):
        raise LookupError("a dictionary has no code")
    return _plain(operand)


def _is_bracketed(text: str) -> bool:
    """Return whether the first bracket of a text is closed by its last character."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not depth:
            return text.startswith("(") and place == len(text) - 1
    return False


def _plain(value: object) -> str:
    if isinstance(value, float) and value in (inf, -inf):
        return "torch.inf" if value > 0 else "-torch.inf"
    if isinstance(value, float) and value != value:  # noqa: PLR0124
        return "torch.nan"
    return "..." if value is ... else repr(value)
