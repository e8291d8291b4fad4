"""Poolers and prediction heads."""

from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.arithmetic import gelu
from bertviewer.core.checking.evaluator import Evaluator
from bertviewer.core.checking.primitives import activation_named
from bertviewer.core.families.module_kind import ModuleKind


def pooler(module: Evaluator, hidden_states: Tensor) -> Tensor:
    """f(dense(x_0)), tanh in BERT."""
    return module.below("activation")(module.below("dense")(hidden_states[:, 0]))


def transform(module: Evaluator, hidden_states: Tensor) -> Tensor:
    """LayerNorm(f(dense(X))); RoBERTa calls GELU as a function."""
    x = module.below("dense")(hidden_states)
    acts = [n for n in ("transform_act_fn", "activation", "act") if module.has(n)]
    x = module.below(acts[0])(x) if acts else module.round(gelu(x))
    return module.first("LayerNorm", "layer_norm", "norm")(x)


def scores(module: Evaluator, hidden_states: Tensor, **_: Any) -> Tensor:
    """Scores of the vocabulary, by way of a transform: BERT's is a module, others' stand here."""
    whole = module.has("transform")
    x = module.below("transform")(hidden_states) if whole else transform(module, hidden_states)
    return module.below("decoder")(x)


def mlm_only(module: Evaluator, *args: Any) -> Tensor:
    """The wrapper around the scores of the vocabulary; DeBERTa's is given its table as well."""
    return module.first("predictions", "lm_head")(*args)


def pretraining(module: Evaluator, sequence_output: Tensor, pooled_output: Tensor) -> Any:
    """Both heads of BERT's pretraining."""
    scores = module.below("predictions")(sequence_output)
    return scores, module.below("seq_relationship")(pooled_output)


def pooled_scores(module: Evaluator, pooled_output: Tensor) -> Tensor:
    """Scores from the pooled output."""
    return module.first("seq_relationship", "classifier")(pooled_output)


def classification(module: Evaluator, features: Tensor, **_: Any) -> Tensor:
    """out(f(dense(x))), x the first position; BART's and T5's models have chosen one already.

    ELECTRA holds its activation, RoFormer and BigBird call that of the layers, RoBERTa tanh.
    """
    is_chosen = module.kind is ModuleKind.CLASSIFICATION_HEAD_OF_END
    x = module.below("dense")(features if is_chosen else features[:, 0])
    if module.has("activation"):
        x = module.below("activation")(x)
    elif module.kind is ModuleKind.ACTIVATED_CLASSIFICATION_HEAD:
        x = module.round(activation_named(module, "hidden_act")(x))
    else:
        x = module.round(torch.tanh(x))
    return module.below("out_proj")(x)


def discriminator(module: Evaluator, hidden_states: Tensor) -> Tensor:
    """ELECTRA's score for each token (Clark et al. 2020, section 2)."""
    x = module.below("activation")(module.below("dense")(hidden_states))
    return module.below("dense_prediction")(x).squeeze(-1)
