"""What notes on stacks, models and heads claim."""

import torch
from torch import nn

from tests.core.formulas.claims import LAST, Note, claim, claims


@claims(
    r"There are (\d+) hidden states: .*\[(\d+)\] the output of (?:layer 0|the last layer); (.*)"
)
def _(it: Note) -> bool:
    name = "layer" if hasattr(it.module, "layer") else "layers"
    last = len(getattr(it.module, name)) - 1
    states = it.case.hidden_states(it.node.path)
    node = it.case.node(f"{it.node.path}.{name}.{last}".lstrip("."))
    outputs = (Note(it.case, node, ()).output, it.output)  # of the last layer, and of the stack
    equal = [torch.equal(states[-1], one.reshape(states[-1].shape)) for one in outputs]
    described = {
        "no norm follows it": [True, True],
        "the final layer norm is included": [False, True],
        f"the final layer norm, after layer {last}, is not included": [True, False],
    }
    return it.numbers == (len(states), last + 1) and described[it.groups[2]] == equal


@claims(
    r"The parameters are stored once per group .*: those of (\d+) groups? serve (\d+) applications?"
)
def _(it: Note) -> bool:
    groups = len(it.module.albert_layer_groups)
    paths = [f"{it.node.path}.albert_layer_groups.{group}" for group in range(groups)]
    return it.numbers == (groups, sum(len(it.case.calls(path)) for path in paths))


claim(
    lambda it: it.node.path.count("albert_layer_groups") == 1,
    r"Every application of the group uses the same parameters",
)


@claims(r"The layers are pre-norm, so a final norm (?:\((\w+)\) )?follows the last one")
def _(it: Note) -> bool:
    usual = ("final_layer_norm", "norm", "layer_norm", "final_norm")
    names = (it.groups[0],) if it.groups[0] else usual
    return any(hasattr(it.module, name) for name in names)


claim(
    lambda it: all(
        isinstance(part.norm, nn.LayerNorm) for part in (it.module.encoder, it.module.decoder)
    ),
    r"PyTorch adds a final layer norm after each stack, which the paper does not have",
)
claim(
    lambda it: 0 in it.case.moved(it.case.base, LAST),
    r"Only the first token is read\. Attention in every layer let it gather .*",
)
claim(
    lambda it: 0 not in it.case.moved(it.case.base, LAST),
    r"Only the first token is read\. In a decoder it attends to no other token, .*",
)
claim(
    lambda it: LAST in it.case.moved("model.decoder", 0, side="decoder_"),
    r"The decoder’s last token has attended to the whole sequence; .*",
)


@claims(r"The pooler reads only the first token \(\[CLS\] in BERT\)")
def _(it: Note) -> bool:
    rows = torch.randn(1, 4, it.module.config.hidden_size)
    other = rows.clone()
    other[0, 1:] += 1
    # ALBERT's model passes only the first row to its pooler.
    return isinstance(it.module.pooler, nn.Linear) or torch.equal(
        it.module.pooler(rows), it.module.pooler(other)
    )


claim(
    lambda it: getattr(it.base, "pooler", None) is None,
    *(r"This model has no pooler: .*", r"It replaces a pooler, which this model does not have"),
    r"It belongs to the head: the base model has no pooler",
)
claim(
    lambda it: it.case.run().logits.shape[-1] > 1,
    r"Softmax over the classes converts the scores to probabilities",
)


@claims(r"Every token is scored from its own hidden state with the same weights")
def _(it: Note) -> bool:
    last = it.tensor("classifier.weight", "score.weight")
    assert last is not None
    return it.output.shape[-1] == last.shape[0]


claim(
    lambda it: not it.case.calls(f"{it.node.path}.contact_head".strip(".")),
    r"“contact_head” is not part of a normal forward pass",
)
claim(
    lambda it: not it.case.calls(it.node.path),
    r"It is called by predict_contacts and is not part of a normal forward pass",
)


@claims(r"Attention to and from end-of-sequence tokens is set to 0 first")
def _(it: Note) -> bool:
    layers, heads = it.config.num_hidden_layers, it.config.num_attention_heads
    tokens = torch.full((1, 5), it.module.eos_idx + 1)
    tokens[0, 3] = it.module.eos_idx
    attention = torch.rand(1, layers, heads, 5, 5)
    changed = attention.clone()
    changed[..., 3, :] = changed[..., :, 3] = 7
    is_equal = torch.equal(it.module(tokens, attention), it.module(tokens, changed))
    return is_equal and layers * heads == it.module.in_features
