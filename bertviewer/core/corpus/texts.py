"""What a model is called with for a batch of sentences, and how it is made ready for many."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch
from msgspec import Struct
from torch import nn

from bertviewer.core.corpus.choices import MOST_TOKENS
from bertviewer.core.corpus.sums import Ints
from bertviewer.core.graph.forwards import replacing
from bertviewer.core.graph.length_measuring import length_limits
from bertviewer.core.replay.eager_attention import eager
from bertviewer.core.runs.big_bird_attention import SPARSE, choose_attention
from bertviewer.core.runs.inputs import model_inputs, text_inputs
from bertviewer.core.util.errors import UserError

ASKS = "output_attentions"
"""The argument of an attention that makes it give its shares."""

_PADDING = ("pad_token_id", "eos_token_id")


class Texts(Struct, frozen=True, eq=False):
    """Ids of sentences side by side, [B, S] each.

    Attributes:
        source: what the model reads, or its encoder.
        mask: 1 where there is a token, on both sides.
        segments: of the source.
        target: what a decoder reads beside an encoder, ``None`` if there is none.
    """

    source: Ints
    mask: Ints
    segments: Ints
    target: Ints | None = None


@contextmanager
def step_by_step(
    module: nn.Module, config: Mapping[str, Any], *, is_eager: bool = True
) -> Iterator[None]:
    """Have a model calculate attention so that it shows its shares, if ``is_eager``.

    A classifier that looks for the last token before the padding is told what the padding is.
    """
    with ExitStack() as stack:
        own: Any = getattr(module, "config", None)
        if own is not None and getattr(own, "pad_token_id", 0) is None:
            own.pad_token_id = padding_of(config)
            stack.callback(setattr, own, "pad_token_id", None)
        # Where it cannot, its heads are not measured.
        if is_eager:
            with suppress(ValueError, NotImplementedError, ImportError):
                stack.enter_context(eager(module))
        yield


@contextmanager
def asked_for_shares(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Have attentions give their shares whether the model asks for them or not.

    The model itself is not asked: it would keep the shares of all layers to its end.
    """

    def asked(module: nn.Module) -> Callable[..., Any]:
        forward, signature = module.forward, inspect.signature(module.forward)

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.arguments[ASKS] = True
            return forward(*bound.args, **bound.kwargs)

        return stand_in

    with replacing((module, asked(module)) for module in modules):
        yield


def called(
    module: nn.Module, texts: Texts, config: Mapping[str, Any], *, gives_states: bool
) -> Any:
    """Return what a model gives; ``gives_states``: its hidden states too, which are kept for it."""
    device = next(module.parameters()).device
    ids, mask, segments = (
        torch.from_numpy(array).to(device) for array in (texts.source, texts.mask, texts.segments)
    )
    if texts.target is None:
        inputs = text_inputs(module, ids, mask, segments, config)
    else:
        given = {"input_ids": ids, "attention_mask": mask, "decoder_attention_mask": mask}
        target = torch.from_numpy(texts.target).to(device)
        inputs = model_inputs(module, {**given, "decoder_input_ids": target})
    return module(**{**inputs, "output_hidden_states": gives_states})


def settle_attention(module: nn.Module, config: Mapping[str, Any], max_tokens: int | None) -> None:
    """Have a model that reads short and long sentences in two ways read all of them in one.

    Raises:
        UserError: some may be too long for that.
    """
    longest = token_limit(config, max_tokens)
    choose_attention(module, {"input_ids": torch.empty(1, longest)})
    if any(getattr(inner, "attention_type", "") == SPARSE for inner in module.modules()):
        raise UserError(
            f"{type(module).__name__} reads sentences of {longest:,} tokens differently from "
            "short ones; set a lower --max-tokens"
        )


def token_limit(config: Mapping[str, Any], wanted: int | None) -> int:
    """Return how many tokens of a sentence are run."""
    limits = length_limits(config)
    if wanted is None:
        # Nobody asked for texts that are longer than those that the model was trained on.
        wanted = min(MOST_TOKENS, limits.trained or MOST_TOKENS)
    return wanted if limits.shared is None else min(limits.shared, wanted)


def padding_of(config: Mapping[str, Any]) -> int:
    """Return the token that stands behind a shorter sentence: one that has a row."""
    rows = config.get("vocab_size")
    for key in _PADDING:
        number = config.get(key)
        if isinstance(number, int) and number >= 0 and (not isinstance(rows, int) or number < rows):
            return number
    return 0
