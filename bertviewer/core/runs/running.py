"""Running one sentence through a model, with the statistics of every module."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
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
    cache: ActivationCache | None = None,
    device: str = CPU,
) -> ActivationRun:
    """Run a sentence in eval mode, batch size 1, and return the statistics of every module.

    ``cache`` is filled with the calls that its scope asks for.

    Raises:
        UserError: the text is empty or too long, the model does not read text, or it has no
            weights.
        Cancelled: by ``progress``, also during the forward pass.
    """
    started = perf_counter()
    check_text(sentence)
    model.ensure_built(progress)
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
    inputs = _token_inputs(module, tokens, config)
    inputs = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in inputs.items()}
    reset_model_state(module, inputs)
    macs = formula_macs(model.architecture, tokens)
    # A module that was replaced, as BigBird's attention, may contain others than are listed.
    listed = {node.path for node in model.architecture.modules}
    modules = {path: inner for path, inner in module.named_modules() if path in listed}
    recorder = Recorder(module, progress, modules)
    counter = RunCounter(module) if macs is None else None
    recording: AbstractContextManager[None] = nullcontext()
    if cache is not None:
        cache.inputs = inputs
        units = modules if cache.scope == "everything" else unit_paths(model.architecture)
        recording = cache.recording({path: modules[path] for path in units})
    forward_started = perf_counter()
    # Not inference_mode(): its tensors do not count in-place changes.
    with torch.no_grad(), recorder.recording(), recording:
        output = _call_model(model, module, inputs, counter)
    forward = perf_counter() - forward_started
    if macs is not None and not recorder.called <= macs.keys():
        # The formulas belong to a model in which other modules were called.
        counter = RunCounter(module)
        with torch.no_grad():
            _call_model(model, module, inputs, counter)
    if counter is not None:
        macs = counter.macs(model.architecture.costs)
    stacks = stacks_of(output)
    if sum(stack[0].shape[1] for stack in stacks) != len(tokens):
        stacks = ()  # Reformer pads the text; what follows needs a row for each token
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


def _call_model(
    model: LoadedModel,
    module: nn.Module,
    inputs: Mapping[str, Any],
    counter: RunCounter | None,
) -> Any:
    """Return the model's output.

    Raises:
        UserError: the model fails.
    """
    problem = f"{model.source.name}: the model cannot run this sentence"
    try:
        with as_user_error(module, problem), counter.counting() if counter else nullcontext():
            return module(**inputs)
    except UserError as error:
        if why := _why_no_decoder_input(module, model.config):
            raise UserError(f"{problem}: {why}") from error
        raise


def _why_no_decoder_input(module: nn.Module, config: Any) -> str:
    """Return why a decoder got no input; "" if it got one, or there is no decoder.

    An encoder that was stored with a head, as T5ForTokenClassification, is no encoder-decoder by
    its configuration. Without the head it is opened as T5Model, which is one.
    """
    if config.is_encoder_decoder or "decoder_input_ids" not in parameters_of(module):
        return ""
    cause = (
        f"is_encoder_decoder is false in its configuration, so the decoder of "
        f"{type(module).__name__} has nothing to attend to"
    )
    tasks = " or ".join(encoder_tasks(config))
    return f"{cause}; its encoder alone opens with the task {tasks} (--task)" if tasks else cause


def _token_inputs(
    module: nn.Module, tokens: tuple[Token, ...], config: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the model's arguments, ids as [1, S].

    An encoder-decoder's tokens are the encoder's, segment 0, and the decoder's, segment 1.
    """
    if config.get("is_encoder_decoder"):
        sides = [[it.id for it in tokens if it.segment == segment] for segment in (0, 1)]
        source, target = (torch.tensor([ids]) for ids in sides)
        return model_inputs(module, {"input_ids": source, "decoder_input_ids": target})
    ids = torch.tensor([[token.id for token in tokens]])
    segments = torch.tensor([[token.segment for token in tokens]])
    return text_inputs(module, ids, torch.ones_like(ids), segments, config)
