"""The module that a formula is about: its tensors, children, attributes and configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.families.families import CLASSES
from bertviewer.core.families.family import Description, Descriptions, kind_of
from bertviewer.core.families.layer import is_cross_attention
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.notation import Affine
from bertviewer.core.text.special_floats import Scalar

CONFIG_KEYS: Mapping[str, tuple[str, ...]] = {
    "vocabulary": ("vocab_size",),
    "width": ("hidden_size", "n_embd", "dim", "d_model"),
    "embedding width": ("embedding_size",),
    "positions": ("max_position_embeddings", "n_positions"),
    "token types": ("type_vocab_size",),
    "padding": ("pad_token_id",),
    "layers": (
        "num_hidden_layers",
        "n_layer",
        "n_layers",
        "num_layers",
        "num_decoder_layers",
        "encoder_layers",
        "decoder_layers",
    ),
    "groups": ("num_hidden_groups", "inner_group_num"),
    "heads": (
        "num_attention_heads",
        "n_head",
        "n_heads",
        "nhead",
        "num_heads",
        "encoder_attention_heads",
        "decoder_attention_heads",
    ),
    "key/value heads": ("num_key_value_heads",),
    "head size": ("head_dim", "d_kv"),
    "rotation": ("rope_parameters", "rope_theta", "rotary_value", "position_embedding_type"),
    "window": ("sliding_window", "layer_types"),
    "blocks": ("attention_type", "block_size", "num_random_blocks"),
    "groups of features": (
        *("q_groups", "k_groups", "v_groups"),
        *("post_attention_groups", "intermediate_groups", "output_groups"),
    ),
    "distances": (
        "relative_attention_num_buckets",
        "relative_attention_max_distance",
        "position_buckets",
        "max_relative_positions",
        "relative_attention",
        "pos_att_type",
        "share_att_key",
    ),
    "feed-forward": (
        "intermediate_size",
        "n_inner",
        "hidden_dim",
        "dim_feedforward",
        "d_ff",
        "encoder_ffn_dim",
        "decoder_ffn_dim",
    ),
    "activation": (
        "hidden_act",
        "hidden_activation",
        "activation_function",
        "activation",
        "dense_act_fn",
    ),
    "epsilon": ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps", "norm_eps"),
    "dropout": ("hidden_dropout_prob", "resid_pdrop", "dropout", "dropout_rate"),
    "embedding dropout": ("hidden_dropout_prob", "embd_pdrop", "embedding_dropout", "dropout"),
    "head dropout": (
        "classifier_dropout",
        "classifier_dropout_prob",
        "seq_classif_dropout",
        "qa_dropout",
        "hidden_dropout_prob",
        "dropout",
    ),
    "embedding scale": ("scale_embedding", "rescale_embeddings"),
    "attention dropout": ("attention_probs_dropout_prob", "attn_pdrop", "attention_dropout"),
    "decoder": ("is_decoder", "add_cross_attention"),
    "scale": ("scale_attn_weights", "scale_attn_by_inverse_layer_idx"),
    "labels": ("num_labels", "id2label"),
    "tying": ("tie_word_embeddings",),
    "norm first": ("norm_first",),
}
"""The keys that are shown beside a formula: families spell a choice differently, it asks for that.

Switches and names are among them, and encoder and decoder are one choice: ``expressions.letters``
has the keys that a count follows, each with a letter of its own.
"""


@dataclass(frozen=True, slots=True)
class ModuleView:
    """One node with what its formula needs to know, looked up once."""

    node: ModuleNode
    architecture: Architecture
    children: Mapping[str, ModuleNode]
    tensors: Mapping[str, TensorInfo]
    classes: Descriptions

    @classmethod
    def of(
        cls, node: ModuleNode, architecture: Architecture, classes: Descriptions = CLASSES
    ) -> "ModuleView":
        """Collect what lies below ``node``; tensors are keyed by their name from ``node`` on.

        ``classes`` says what a class is.
        """
        skip = len(node.path) + 1 if node.path else 0
        children = {child.name: child for child in architecture.children(node.path)}
        below = architecture.tensors_below(node.path)
        tensors = {tensor.name[skip:]: tensor for tensor in below}
        return cls(node, architecture, children, tensors, classes)

    @property
    def config(self) -> Mapping[str, Any]:
        """The model's configuration."""
        return self.architecture.config

    @property
    def width(self) -> int | str:
        """The model's width by its configuration, the letter D where it does not say."""
        key = next(iter(self.keys("width")), None)
        return "D" if key is None else int(self.config[key])

    @property
    def is_cross(self) -> bool:
        """Whether the node is, or belongs to, a layer's attention to an encoder."""
        kinds = (self.kind, self.kind_below("self"))
        return is_cross_attention(self.node.path) or ModuleKind.BERT_CROSS_ATTENTION in kinds

    @property
    def description(self) -> Description | None:
        """What the node's class is, ``None`` where no family has it."""
        return self.classes.get(self.node.class_name)

    @property
    def kind(self) -> ModuleKind | None:
        """The kind of the node's class."""
        return kind_of(self.description)

    def below(self, path: str) -> "ModuleView":
        """Return what is at ``path`` from the node on as a view of its own.

        Raises:
            KeyError: there is nothing.
        """
        name, _, rest = path.partition(".")
        child = ModuleView.of(self.children[name], self.architecture, self.classes)
        return child.below(rest) if rest else child

    def has(self, path: str) -> bool:
        """Return whether there is a module at ``path`` from the node on."""
        name, _, rest = path.partition(".")
        return name in self.children and (not rest or self.below(name).has(rest))

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of a tensor in or below the node, ``None`` if there is none."""
        tensor = self.tensors.get(name)
        return None if tensor is None else tensor.shape

    def attribute(self, *names: str) -> Scalar:
        """Return the first of these attributes that the module has."""
        return next((self.node.attributes[n] for n in names if n in self.node.attributes), None)

    def integer(self, *names: str) -> int | None:
        """Return the first of these attributes, if it is a whole number."""
        value = self.attribute(*names)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def affine(self, name: str = "") -> Affine:
        """Return the linear layer ``name`` below the node, or the node's own.

        Raises:
            KeyError: there is no weight of that name.
        """
        prefix = f"{name}." if name else ""
        inner = self.kind_below(name) if name else self.kind
        return Affine(
            self.tensors[f"{prefix}weight"].shape,
            f"{prefix}bias" in self.tensors,
            transposed=inner is not ModuleKind.CONV1D,
        )

    def kind_below(self, name: str) -> ModuleKind | None:
        """Return the kind of the child ``name``, ``None`` if there is no such child or kind."""
        child = self.children.get(name)
        return None if child is None else kind_of(self.classes.get(child.class_name))

    def keys(self, *choices: str) -> tuple[str, ...]:
        """Return this configuration's keys for the choices, those that it has."""
        return tuple(key for choice in choices for key in CONFIG_KEYS[choice] if key in self.config)
