"""Runs one sentence through a model and watches every module."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from time import perf_counter
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.analysis.layers import unit_paths
from bertviewer.core.building.models import encoder_tasks
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.attention_implementation import reset_model_state
from bertviewer.core.runs.device import CPU
from bertviewer.core.runs.failures import as_user_error
from bertviewer.core.runs.hidden_states import (
    hidden_states,
    small_outputs,
    stacks_of,
    state_paths,
    token_norms,
)
from bertviewer.core.runs.inputs import model_inputs, parameters_of, text_inputs
from bertviewer.core.runs.macs import RunCounter, formula_macs
from bertviewer.core.runs.recording import Recorder
from bertviewer.core.schema.activation_run import ActivationRun, Sentence, Token
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.tokenization.sentence import check_text
from bertviewer.core.tokenization.tokenization import (
    check_score_memory,
    check_tokens,
    length_notices,
    reads_text,
    with_decoder,
)
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress


def run_sentence(
    model: LoadedModel,
    sentence: Sentence,
    progress: Progress = no_progress,
    *,
    random_weights: bool = False,
    capture: ActivationCache | None = None,
    device: str = CPU,
) -> ActivationRun:
    """Run ``sentence`` in eval mode, batch size 1, and return the figures of every module.

    ``capture`` is filled with what its scope asks for; without it nothing is kept.

    Raises:
        UserError: the text is empty or too long, the model reads none, or there are no weights to
            run.
        Cancelled: ``progress`` said so, before or in the middle of the forward pass.
    """
    started = perf_counter()
    check_text(sentence)
    model.confirm(progress)
    if not reads_text(model.architecture):
        kind = model.architecture.root.class_name
        raise UserError(f"{kind} does not read text, so no sentence can be run")
    progress(0, 0, "Reading the tokenizer")
    tokenizer = model.tokenizer(progress)
    tokens = with_decoder(tokenizer, tokenizer.tokenize(sentence, progress), model.architecture)
    config = model.architecture.config
    check_tokens(tokens, config, model.length_limits)
    if device == CPU:
        check_score_memory(tokens, config, model.source.name)
    module = model.module(random_weights, progress, device)
    inputs = _inputs(module, tokens, config)
    inputs = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in inputs.items()}
    reset_model_state(module, inputs)
    macs = formula_macs(model.architecture, tokens)
    modules = _inspected(module, model.architecture)
    recorder = Recorder(module, progress, modules)
    counter = RunCounter(module) if macs is None else None
    capture, kept = _kept(capture, inputs, modules, model.architecture)
    forward_started = perf_counter()
    # Not inference_mode(): its tensors do not tell whether they were changed in place.
    with torch.no_grad(), recorder.recording(), capture.recording(kept):
        output = _called(model, module, inputs, counter)
    forward = perf_counter() - forward_started
    if macs is not None and not recorder.called <= macs.keys():
        # The formulas are of a model in which something else was called.
        counter = RunCounter(module)
        with torch.no_grad():
            _called(model, module, inputs, counter)
    if counter is not None:
        macs = counter.macs(model.architecture.costs)
    stacks = stacks_of(output)
    source, whole_config = model.architecture.source, model.architecture.whole_config
    notices = *source.notices, *length_notices(tokens, whole_config)
    return ActivationRun(
        source=replace(source, notices=notices),
        sentence=sentence,
        tokenizer=tokenizer.kind,
        tokens=tokens,
        modules=recorder.activations(macs),
        token_norms=token_norms(stacks),
        seconds_forward=forward,
        seconds_total=perf_counter() - started,
        device=device,
        hidden_states=hidden_states(stacks),
        state_paths=state_paths(stacks, recorder),
        outputs=small_outputs(output, config.get("vocab_size")),
    )


def _called(
    model: LoadedModel,
    module: nn.Module,
    inputs: Mapping[str, Any],
    counter: RunCounter | None,
) -> Any:
    """Return what the model gives.

    Raises:
        UserError: it fails.
    """
    problem = f"{model.source.name}: the model cannot run this sentence"
    try:
        with as_user_error(module, problem), counter.counting() if counter else nullcontext():
            return module(**inputs)
    except UserError as error:
        if why := _without_decoder_text(module, model.config):
            raise UserError(f"{problem}: {why}") from error
        raise


def _without_decoder_text(module: nn.Module, config: Any) -> str:
    """Return why a decoder had nothing to read, "" if it had, or there is none.

    An encoder that was stored with a head says that it is no encoder-decoder, as
    T5ForTokenClassification does. Without the head it is opened as T5Model, which is one.
    """
    if config.is_encoder_decoder or "decoder_input_ids" not in parameters_of(module):
        return ""
    cause = (
        f"is_encoder_decoder is false in its configuration, so the decoder of "
        f"{type(module).__name__} has nothing to attend to"
    )
    tasks = " or ".join(encoder_tasks(config))
    return f"{cause}; its encoder alone opens with the task {tasks} (--task)" if tasks else cause


def _inspected(module: nn.Module, architecture: Architecture) -> dict[str, nn.Module]:
    """Return the modules by path that the architecture lists; an exchanged one may hold others."""
    listed = {node.path for node in architecture.modules}
    return {path: inner for path, inner in module.named_modules() if path in listed}


def _kept(
    capture: ActivationCache | None,
    inputs: Mapping[str, Any],
    modules: dict[str, nn.Module],
    architecture: Architecture,
) -> tuple[ActivationCache, dict[str, nn.Module]]:
    """Return where calls are kept, and the modules whose calls are."""
    if capture is None:
        return ActivationCache(), {}
    capture.inputs = inputs
    if capture.scope == "everything":
        return capture, modules
    return capture, {path: modules[path] for path in unit_paths(architecture)}


def _inputs(
    module: nn.Module, tokens: tuple[Token, ...], config: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the model is called with, ids as [1, S].

    An encoder-decoder's tokens are the encoder's, segment 0, and the decoder's, segment 1.
    """
    if config.get("is_encoder_decoder"):
        sides = ("input_ids", "decoder_input_ids")
        return model_inputs(
            module,
            {
                name: _row([token.id for token in tokens if token.segment == segment])
                for segment, name in enumerate(sides)
            },
        )
    ids = _row([token.id for token in tokens])
    segments = _row([token.segment for token in tokens])
    return text_inputs(module, ids, torch.ones_like(ids), segments, config)


def _row(values: Sequence[int]) -> Tensor:
    return torch.tensor([list(values)])
