"""Poolers and prediction heads."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.arithmetic import gelu
from bertviewer.core.checking.families import BART, BERT, T5, named
from bertviewer.core.checking.part import Part, Recomputation
from bertviewer.core.checking.primitives import activation_named


def pooler(part: Part, hidden_states: Tensor) -> Tensor:
    """f(dense(x_0)), tanh in BERT."""
    result: Tensor = part.below("activation")(part.below("dense")(hidden_states[:, 0]))
    return result


def transform(part: Part, hidden_states: Tensor) -> Tensor:
    """LayerNorm(f(dense(X)))."""
    act = part.first("transform_act_fn", "activation")
    result: Tensor = part.below("LayerNorm")(act(part.below("dense")(hidden_states)))
    return result


def bert_lm(part: Part, hidden_states: Tensor) -> Tensor:
    """BERT's scores of the vocabulary."""
    result: Tensor = part.below("decoder")(part.below("transform")(hidden_states))
    return result


def albert_lm(part: Part, hidden_states: Tensor) -> Tensor:
    """ALBERT's scores: the transform stands in the head itself."""
    result: Tensor = part.below("decoder")(transform(part, hidden_states))
    return result


def roberta_lm(part: Part, features: Tensor, **_: Any) -> Tensor:
    """RoBERTa's scores; it calls GELU as a function."""
    x = part.round(gelu(part.below("dense")(features)))
    result: Tensor = part.below("decoder")(part.below("layer_norm")(x))
    return result


def mlm_only(part: Part, sequence_output: Tensor) -> Tensor:
    """The wrapper around the scores of the vocabulary."""
    result: Tensor = part.below("predictions")(sequence_output)
    return result


def pretraining(part: Part, sequence_output: Tensor, pooled_output: Tensor) -> Any:
    """Both heads of BERT's pretraining."""
    scores = part.below("predictions")(sequence_output)
    return scores, part.below("seq_relationship")(pooled_output)


def pooled_scores(part: Part, pooled_output: Tensor) -> Tensor:
    """Scores from the pooled output."""
    result: Tensor = part.first("seq_relationship", "classifier")(pooled_output)
    return result


def classification(part: Part, features: Tensor, **_: Any) -> Tensor:
    """out(f(dense(x_0))): ELECTRA holds its activation, RoBERTa calls tanh."""
    return _scores(part, features[:, 0])


def acted_classification(part: Part, features: Tensor, **_: Any) -> Tensor:
    """RoFormer's and BigBird's: the activation is that of the layers, called as a function."""
    act = activation_named(part, "hidden_act")
    hidden = part.round(act(part.below("dense")(features[:, 0])))
    result: Tensor = part.below("out_proj")(hidden)
    return result


def chosen_classification(part: Part, hidden_states: Tensor) -> Tensor:
    """BART's and T5's head: the model has chosen the position already."""
    return _scores(part, hidden_states)


def _scores(part: Part, x: Tensor) -> Tensor:
    x = part.below("dense")(x)
    x = part.below("activation")(x) if part.has("activation") else part.round(torch.tanh(x))
    result: Tensor = part.below("out_proj")(x)
    return result


def discriminator(part: Part, hidden_states: Tensor) -> Tensor:
    """ELECTRA's score for each token (Clark et al. 2020, section 2)."""
    x = part.below("activation")(part.below("dense")(hidden_states))
    result: Tensor = part.below("dense_prediction")(x).squeeze(-1)
    return result


_TRANSFORMS = ("Bert", "LegacyDeberta", "LegacyDebertaV2", "RoFormer", "BigBird", "SqueezeBert")
"""Families with BERT's scores of the vocabulary."""
_POOLED = (*BERT, "MPNet", "Esm", "SqueezeBert")

HEADS: Mapping[str, Recomputation] = {
    **dict.fromkeys(named(_POOLED, "Pooler"), pooler),
    **dict.fromkeys(named((*BERT, "MPNet", "Esm"), "ClassificationHead"), classification),
    **dict.fromkeys(named(("RoFormer", "BigBird"), "ClassificationHead"), acted_classification),
    **dict.fromkeys(named((*BERT, "MPNet"), "LMHead"), roberta_lm),
    **dict.fromkeys(named(_TRANSFORMS, "PredictionHeadTransform"), transform),
    **dict.fromkeys(named(_TRANSFORMS, "LMPredictionHead"), bert_lm),
    **dict.fromkeys(named(_TRANSFORMS, "OnlyMLMHead"), mlm_only),
    **dict.fromkeys(named(("Bert", "BigBird"), "PreTrainingHeads"), pretraining),
    "BertOnlyNSPHead": pooled_scores,
    "ElectraGeneratorPredictions": transform,
    "AlbertMLMHead": albert_lm,
    "AlbertSOPHead": pooled_scores,
    "ElectraDiscriminatorPredictions": discriminator,
    **dict.fromkeys(named((*BART, *T5), "ClassificationHead"), chosen_classification),
}
