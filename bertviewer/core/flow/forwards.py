"""Watches calls of modules: something of ours stands in for their ``forward`` meanwhile.

A hook sees much the same, but not where a model calls ``layer.forward()``, as SqueezeBERT does. And
it makes torch call its module in a slower way: 213 hooks that do nothing cost 3 % of BERT's forward
pass.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from torch import nn

from bertviewer.core.frozen import frozen

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""What a call takes: by place and by name."""


@frozen
class Watch:
    """A module, and what is done after each of its calls, and before it.

    Attributes:
        module: whose calls are watched.
        after: takes what the call took, what it gave, and what ``before`` gave; it may return
            what the call is to give instead.
        before: takes what the call takes.
    """

    module: nn.Module
    after: Callable[[Arguments, Any, Any], Any]
    before: Callable[[Arguments], Any] | None = None


@contextmanager
def watching(watches: Iterable[Watch]) -> Iterator[None]:
    """Watch modules inside the ``with``; they are as before after it, whatever happens."""
    with replacing((it.module, _stand_in(it.module.forward, it)) for it in watches):
        yield


@contextmanager
def replacing(stand_ins: Iterable[tuple[nn.Module, Callable[..., Any]]]) -> Iterator[None]:
    """Let something else be called for ``forward`` of these modules inside the ``with``."""
    replaced: list[tuple[dict[str, Any], Any]] = []
    try:
        for module, stand_in in stand_ins:
            attributes = vars(module)
            replaced.append((attributes, attributes.get("forward")))
            attributes["forward"] = stand_in
        yield
    finally:
        for attributes, forward in reversed(replaced):
            attributes.pop("forward", None)
            if forward is not None:
                attributes["forward"] = forward


def is_stand_in(frame: FrameType) -> bool:
    """Tell whether a frame is just a module's ``forward`` for anybody who looks at the stack."""
    return frame.f_code is _CODE


def _stand_in(forward: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    before, after = watch.before, watch.after

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        noted = None if before is None else before((args, kwargs))
        output = forward(*args, **kwargs)
        instead = after((args, kwargs), output, noted)
        return output if instead is None else instead

    # All that inspect.signature() needs of functools.wraps().
    stand_in.__wrapped__ = forward  # type: ignore[attr-defined]
    return stand_in


_CODE = _stand_in(print, Watch(nn.Identity(), lambda *_: None)).__code__
