"""Poolers and prediction heads."""

from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.arithmetic import gelu
from bertviewer.core.checking.evaluator import Evaluator
from bertviewer.core.checking.primitives import activation_named


def pooler(module: Evaluator, hidden_states: Tensor) -> Tensor:
    """f(dense(x_0)), tanh in BERT."""
    return module.below("activation")(module.below("dense")(hidden_states[:, 0]))


def transform(module: Evaluator, hidden_states: Tensor) -> Tensor:
    """LayerNorm(f(dense(X)))."""
    act, norm = (
        module.first("transform_act_fn", "activation", "act"),
        module.first("LayerNorm", "norm"),
    )
    return norm(act(module.below("dense")(hidden_states)))


def bert_lm(module: Evaluator, hidden_states: Tensor) -> Tensor:
    """BERT's scores of the vocabulary."""
    return module.below("decoder")(module.below("transform")(hidden_states))


def albert_lm(module: Evaluator, hidden_states: Tensor) -> Tensor:
    """ALBERT's scores: the transform stands in the head itself."""
    return module.below("decoder")(transform(module, hidden_states))


def roberta_lm(module: Evaluator, features: Tensor, **_: Any) -> Tensor:
    """RoBERTa's scores; it calls GELU as a function."""
    x = module.round(gelu(module.below("dense")(features)))
    return module.below("decoder")(module.below("layer_norm")(x))


def mlm_only(module: Evaluator, sequence_output: Tensor) -> Tensor:
    """The wrapper around the scores of the vocabulary."""
    return module.below("predictions")(sequence_output)


def pretraining(module: Evaluator, sequence_output: Tensor, pooled_output: Tensor) -> Any:
    """Both heads of BERT's pretraining."""
    scores = module.below("predictions")(sequence_output)
    return scores, module.below("seq_relationship")(pooled_output)


def pooled_scores(module: Evaluator, pooled_output: Tensor) -> Tensor:
    """Scores from the pooled output."""
    return module.first("seq_relationship", "classifier")(pooled_output)


def classification(module: Evaluator, features: Tensor, **_: Any) -> Tensor:
    """out(f(dense(x_0))): ELECTRA holds its activation, RoBERTa calls tanh."""
    return _scores(module, features[:, 0])


def acted_classification(module: Evaluator, features: Tensor, **_: Any) -> Tensor:
    """RoFormer's and BigBird's: the activation is that of the layers, called as a function."""
    act = activation_named(module, "hidden_act")
    hidden = module.round(act(module.below("dense")(features[:, 0])))
    return module.below("out_proj")(hidden)


def chosen_classification(module: Evaluator, hidden_states: Tensor) -> Tensor:
    """BART's and T5's head: the model has chosen the position already."""
    return _scores(module, hidden_states)


def _scores(module: Evaluator, x: Tensor) -> Tensor:
    x = module.below("dense")(x)
    x = module.below("activation")(x) if module.has("activation") else module.round(torch.tanh(x))
    return module.below("out_proj")(x)


def discriminator(module: Evaluator, hidden_states: Tensor) -> Tensor:
    """ELECTRA's score for each token (Clark et al. 2020, section 2)."""
    x = module.below("activation")(module.below("dense")(hidden_states))
    return module.below("dense_prediction")(x).squeeze(-1)
