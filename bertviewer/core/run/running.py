"""Runs one sentence through a model and watches every module."""

import inspect
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.architecture import Architecture
from bertviewer.core.errors import UserError
from bertviewer.core.loading import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.activation_run import ActivationRun, Sentence, Token
from bertviewer.core.run.capture import Capture
from bertviewer.core.run.hidden_states import (
    hidden_states,
    small_outputs,
    stacks_of,
    state_paths,
    token_norms,
)
from bertviewer.core.run.recording import Recorder
from bertviewer.core.run.text import check_text
from bertviewer.core.run.tokenization import check_tokens, with_decoder
from bertviewer.core.run.units import unit_paths

MOST_SAID = 200
"""Characters of an error's own words that are told."""


def run_sentence(
    model: LoadedModel,
    sentence: Sentence,
    random_weights: bool = False,
    progress: Progress = no_progress,
    *,
    capture: Capture | None = None,
    device: str = "cpu",
) -> ActivationRun:
    """Run ``sentence`` in eval mode, batch size 1, and return the figures of every module.

    ``capture`` is filled with what its scope asks for; without it nothing is kept.

    Raises:
        UserError: the text is empty or too long, or there are no weights to run.
        Cancelled: ``progress`` said so, before or in the middle of the forward pass.
    """
    started = perf_counter()
    check_text(sentence)
    progress(0, 0, "Reading the tokenizer")
    tokenizer = model.tokenizer()
    tokens = with_decoder(tokenizer, tokenizer.tokenize(sentence), model.architecture)
    config = model.architecture.config
    check_tokens(tokens, config)
    module = model.module(random_weights, progress, device)
    inputs = _inputs(module, tokens, config)
    inputs = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in inputs.items()}
    recorder = Recorder(module, progress)
    capture, modules = _kept(capture, inputs, module, model.architecture)
    forward_started = perf_counter()
    # Not inference_mode(): its tensors do not tell whether they were changed in place.
    with torch.no_grad(), recorder.watching(), capture.watching(modules):
        try:
            output = module(**inputs)
        except (RuntimeError, ValueError, IndexError, AssertionError) as error:
            raise UserError(f"{model.source.name}: {_why_not(error)}") from error
    forward = perf_counter() - forward_started
    stacks = stacks_of(output)
    return ActivationRun(
        source=model.architecture.source,
        sentence=sentence,
        tokenizer=tokenizer.kind,
        tokens=tokens,
        modules=recorder.activations(),
        token_norms=token_norms(stacks),
        seconds_forward=forward,
        seconds_total=perf_counter() - started,
        device=device,
        hidden_states=hidden_states(stacks),
        state_paths=state_paths(stacks, recorder),
        outputs=small_outputs(output, config.get("vocab_size")),
    )


def _why_not(error: Exception) -> str:
    """Return one line of what torch or transformers says, however long that is."""
    said = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, IndexError) and said == "index out of range in self":
        said = "it looks up a row that one of its tables does not have"
    if len(said) > MOST_SAID:
        said = f"{said[:MOST_SAID]}…"
    return f"the model cannot run this sentence: {said}"


def _kept(
    capture: Capture | None,
    inputs: Mapping[str, Any],
    module: nn.Module,
    architecture: Architecture,
) -> tuple[Capture, dict[str, nn.Module]]:
    """Return where calls are kept, and the modules whose calls are."""
    if capture is None:
        return Capture(), {}
    capture.inputs = inputs
    if capture.scope == "everything":
        return capture, dict(module.named_modules())
    return capture, {path: module.get_submodule(path) for path in unit_paths(architecture)}


def _inputs(
    module: nn.Module, tokens: tuple[Token, ...], config: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the model is called with, ids as [1, S].

    An encoder-decoder's tokens are the encoder's, segment 0, and the decoder's, segment 1.

    Raises:
        UserError: the model takes no token ids.
    """
    accepted = inspect.signature(module.forward).parameters
    if "input_ids" not in accepted:
        raise UserError(f"{type(module).__name__} does not read text, so no sentence can be run")
    inputs: dict[str, Any] = {
        "output_hidden_states": True,
        "return_dict": True,
        # Nothing is generated, and a cache would be changed after it was seen.
        "use_cache": False,
    }
    if config.get("is_encoder_decoder"):
        sides = ("input_ids", "decoder_input_ids")
        for segment, name in enumerate(sides):
            inputs[name] = _row([token for token in tokens if token.segment == segment])
    else:
        inputs |= {
            "input_ids": _row(tokens),
            "attention_mask": torch.ones(1, len(tokens), dtype=torch.long),
        }
        types = config.get("type_vocab_size")
        # Only where there is a table for them: GPT-2 would look segments up among its words.
        if isinstance(types, int) and types > 0:
            segments = [min(token.segment, types - 1) for token in tokens]
            inputs["token_type_ids"] = torch.tensor([segments])
    return _accepted(inputs, module)


def _accepted(inputs: dict[str, Any], module: nn.Module) -> dict[str, Any]:
    """Keep what the model takes: heads hand some of it on to the base model as **kwargs."""
    parameters = inspect.signature(module.forward).parameters
    known = {*parameters, "output_hidden_states", "return_dict"}
    if any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters.values()):
        base = getattr(module, "base_model", module)
        known |= {"use_cache"} & inspect.signature(base.forward).parameters.keys()
    return {name: value for name, value in inputs.items() if name in known}


def _row(tokens: Sequence[Token]) -> Tensor:
    return torch.tensor([[token.id for token in tokens]])
