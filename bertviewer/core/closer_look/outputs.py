"""What modules gave in a run, seen again one by one: nothing of it is kept."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, TypeVar

from torch import Tensor, nn

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress
from bertviewer.core.run.capture import Capture
from bertviewer.core.run.recording import first_tensor
from bertviewer.core.run.replay import replay

Found = TypeVar("Found")


def look_at_outputs(
    model: LoadedModel,
    kept: Capture,
    paths: Iterable[str],
    look: Callable[[Tensor], Found],
    progress: Progress,
) -> dict[str, list[Found]]:
    """Return what ``look`` makes of the output of every call of the modules at ``paths``.

    It sees the first tensor, as the statistics of a run do, at the moment when the module gives
    it: a model may change it in place afterwards. Modules without one are left out.

    Raises:
        Cancelled: ``progress`` said so.
    """
    module = model.module(random_weights=True)
    chosen = tuple(dict.fromkeys(paths))  # a hook each, however often one is named
    found: dict[str, list[Found]] = {}

    def hook(path: str) -> Callable[[nn.Module, Any, Any], None]:
        def see(_module: nn.Module, _args: Any, output: Any) -> None:
            if (tensor := first_tensor(output)) is not None:
                found.setdefault(path, []).append(look(tensor.detach()))

        return see

    with ExitStack() as hooks:
        for path in chosen:
            handle = module.get_submodule(path).register_forward_hook(hook(path))
            hooks.callback(handle.remove)
        # A budget of no bytes: the calls themselves are not wanted.
        replay(model, kept, chosen, progress, budget=0)
    return found
