"""Models with a head on top of a base model."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.arithmetic import relu
from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError
from bertviewer.core.checking.models import Result, encoder_decoder
from bertviewer.core.families.module_kind import ModuleKind, kinds_of

_BASES = kinds_of("base model")


def base_of(module: Evaluator, *args: Any, **kwargs: Any) -> Result:
    """Run the model below the head; T5's is the model with the head itself."""
    if module.has("encoder"):
        return encoder_decoder(module, *args, **kwargs)
    base = next((child for child in module.children if child.kind in _BASES), None)
    if base is None:
        raise NoRecomputationError(f"{module.node.class_name} has no base model that is known")
    return base(*args, **kwargs)


def language_model(module: Evaluator, *args: Any, **kwargs: Any) -> Result:
    """Score the vocabulary at every position."""
    base = base_of(module, *args, **kwargs)
    return base | {"logits": _vocabulary_scores(module, base["last_hidden_state"])}


def _vocabulary_scores(module: Evaluator, x: Tensor) -> Tensor:
    result: Tensor
    if module.has("generator_predictions"):
        result = module.below("generator_lm_head")(module.below("generator_predictions")(x))
    elif module.has("vocab_projector"):
        x = module.below("activation")(module.below("vocab_transform")(x))
        result = module.below("vocab_projector")(module.below("vocab_layer_norm")(x))
    elif module.has("head"):
        result = module.below("decoder")(module.below("head")(x))
    elif module.has("lm_predictions"):
        words = module.below("deberta.embeddings.word_embeddings")
        result = module.below("lm_predictions")(x, words)
    else:
        if module.has("encoder") and module.config.get("scale_decoder_outputs"):
            x = module.round(x * float(module.setting_value("d_model")) ** -0.5)
        result = module.first("cls", "lm_head", "predictions")(x)
        if (bias := module.tensor("final_logits_bias")) is not None:
            result = result + bias
    return result


def sequence_classification(
    module: Evaluator, input_ids: Given = None, *args: Any, **kwargs: Any
) -> Result:
    """Score the classes of the whole sequence."""
    base = base_of(module, input_ids, *args, **kwargs)
    x = base["last_hidden_state"]
    if module.has("score"):
        chosen = x[:, _last_token(module, input_ids)]
        return base | {"logits": module.below("score")(chosen)}
    if module.has("classification_head"):
        if input_ids is None:
            raise NoRecomputationError("the recomputation needs the ids to find the last token")
        ends = (input_ids[0] == module.setting_value("eos_token_id")).nonzero()
        return base | {"logits": module.below("classification_head")(x[:, int(ends[-1])])}
    if module.has("pre_classifier"):
        hidden = module.round(relu(module.below("pre_classifier")(x[:, 0])))
        return base | {"logits": module.below("classifier")(hidden)}
    head = module.below("classifier")
    if module.has("head"):
        return base | {"logits": head(module.below("head")(_pooled(module, x, kwargs)))}
    if module.has("pooler"):
        return base | {"logits": head(module.below("pooler")(x))}
    pooled = head.kind is ModuleKind.LINEAR
    return base | {"logits": head(base["pooler_output"] if pooled else x)}


def _pooled(module: Evaluator, x: Tensor, given: Mapping[str, Any]) -> Tensor:
    """Return the vector of the first token, or the mean of all: ModernBERT's choice."""
    pooling = module.setting_value("classifier_pooling")
    if pooling not in ("cls", "mean"):
        raise NoRecomputationError(f"the recomputation does not cover the pooling {pooling!r}")
    if pooling == "cls":
        return x[:, 0]
    mask = given.get("attention_mask")
    weights = (torch.ones(x.shape[:2]) if mask is None else mask).to(x.dtype)[..., None]
    return (x * weights).sum(1) / weights.sum(1)


def _last_token(module: Evaluator, input_ids: Tensor | None) -> int:
    """Return the place of the last token that is not padding, in the one sentence that is run."""
    padding = module.config.get("pad_token_id")
    if padding is None or input_ids is None:
        return -1
    real = (input_ids[0] != padding).nonzero()
    return int(real[-1]) if len(real) else 0


def token_classification(module: Evaluator, *args: Any, **kwargs: Any) -> Result:
    """Score the classes of every token."""
    base = base_of(module, *args, **kwargs)
    return base | {"logits": module.first("classifier", "score")(_transformed(module, base))}


def _transformed(module: Evaluator, base: Result) -> Tensor:
    """Return the last hidden state, by way of ModernBERT's transform."""
    x: Tensor = base["last_hidden_state"]
    return module.below("head")(x) if module.has("head") else x


def question_answering(module: Evaluator, *args: Any, **kwargs: Any) -> Result:
    """Score each token as the answer's start and as its end."""
    base = base_of(module, *args, **kwargs)
    scores = module.first("qa_outputs", "classifier")(_transformed(module, base))
    return base | {"start_logits": scores[..., 0], "end_logits": scores[..., 1]}


def next_sentence(module: Evaluator, *args: Any, **kwargs: Any) -> Result:
    """Score whether the second sentence follows the first."""
    base = base_of(module, *args, **kwargs)
    return base | {"logits": module.below("cls")(base["pooler_output"])}


def pretraining(module: Evaluator, *args: Any, **kwargs: Any) -> Result:
    """BERT's, ALBERT's and ELECTRA's tasks of pretraining."""
    base = base_of(module, *args, **kwargs)
    x = base["last_hidden_state"]
    if module.has("discriminator_predictions"):
        return base | {"logits": module.below("discriminator_predictions")(x)}
    if module.has("sop_classifier"):
        scores = module.below("predictions")(x)
        order = module.below("sop_classifier")(base["pooler_output"])
        return base | {"prediction_logits": scores, "sop_logits": order}
    scores, follows = module.below("cls")(x, base["pooler_output"])
    return base | {"prediction_logits": scores, "seq_relationship_logits": follows}
