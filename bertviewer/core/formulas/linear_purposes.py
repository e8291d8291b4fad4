"""What a small module is for, by its place: the longest ending that fits its path wins."""

from collections.abc import Mapping

from bertviewer.core.formulas.module_view import ModuleView


def _by_ending(endings: Mapping[str, str]) -> dict[str, str]:
    """Return a text by each ending of a path, from the endings that each text is for."""
    return {ending: text for text, of_text in endings.items() for ending in of_text.split()}


LINEAR_USES = _by_ending(
    {
        "Computes the queries: what each position looks for.": (
            "query q_lin q_proj query_proj SelfAttention.q EncDecAttention.q attn.q"
        ),
        "Computes the keys: what each position is matched by.": (
            "key k_lin k_proj key_proj SelfAttention.k EncDecAttention.k attn.k"
        ),
        "Computes the values: what each position passes on to those that attend to it.": (
            "value v_lin v_proj value_proj SelfAttention.v EncDecAttention.v attn.v"
        ),
        "Computes queries, keys and values in one product, side by side.": "c_attn",
        "Reduces the layer’s input to the layer’s internal hidden size.": "bottleneck.input.dense",
        "Reduces the layer’s input to the vectors from which queries and keys are computed.": (
            "bottleneck.attention.dense"
        ),
        "Projects the layer’s output back to the hidden size of the model.": (
            "output.bottleneck.dense"
        ),
        "Mixes the heads’ outputs into one vector per position.": (
            "crossattention.output.dense attention.output.dense attention.dense attn.c_proj "
            "attn.out_proj self_attn.out_proj multihead_attn.out_proj out_lin o_proj "
            "SelfAttention.o EncDecAttention.o attn.o encoder_attn.out_proj attn.Wo"
        ),
        "Expands each position’s vector for the feed-forward network.": (
            "intermediate.dense ffn lin1 linear1 c_fc fc1 wi"
        ),
        "Projects the feed-forward network’s output back to the hidden size.": (
            "output.dense ffn_output lin2 linear2 mlp.c_proj fc2 wo down_proj mlp.Wo"
        ),
        "Maps the first token’s vector; the pooler’s activation follows.": "pooler.dense",
        "Maps the first token’s vector; a tanh follows.": "pooler",
        "Transforms each position’s vector for the prediction of its token.": (
            "transform.dense vocab_transform"
        ),
        "Computes one score (logit) per vocabulary entry.": (
            "decoder lm_head vocab_projector generator_lm_head"
        ),
        "Computes two scores: sentence B follows sentence A, or it does not.": "seq_relationship",
        "Computes two scores per token: the answer starts here, the answer ends here.": (
            "qa_outputs"
        ),
        "Computes queries, keys and values in one product, with their weights stacked.": "Wqkv",
        "Computes the keys of relative distances: what each distance is matched by.": (
            "pos_key_proj"
        ),
        "Computes the queries of relative distances: what each distance looks for.": (
            "pos_query_proj"
        ),
        "Determines, after its activation, how much of each feature passes the gate.": (
            "gate_proj wi_0"
        ),
        "Expands each position’s vector; its output is multiplied by the gate.": "up_proj wi_1",
        "Expands each position’s vector to two halves, one of which gates the other.": "mlp.Wi",
        "Transforms each position’s vector for the prediction.": "head.dense",
        "Computes one score (logit) per class.": "classifier classifier.out_proj score",
        "Projects the embeddings to the hidden size.": (
            "embedding_hidden_mapping_in embeddings_project"
        ),
    }
)

EMBEDDING_USES = _by_ending(
    {
        "Maps each vocabulary entry to its vector.": (
            "word_embeddings embedding wte shared embed_tokens tok_embeddings"
        ),
        "Maps each position in the sequence to its vector.": (
            "embed_positions position_embeddings wpe"
        ),
        "Maps each distance between two positions to its bias, one per head.": (
            "relative_attention_bias"
        ),
        "Maps each distance between two positions to its vector.": "rel_embeddings",
        "Maps each segment (first or second sentence) to its vector.": "token_type_embeddings",
    }
)

DROPOUT_PLACES = _by_ending(
    {
        "attention dropout": (
            "self.dropout attention.dropout attention_dropout attn_dropout out_drop"
        ),
        "embedding dropout": "embeddings.dropout embeddings.drop drop",
        "head dropout": "classifier.dropout sop_classifier.dropout",
    }
)


def use_of(view: ModuleView, uses: Mapping[str, str], otherwise: str) -> str:
    """Return the text of the longest ending of the module's path that has one."""
    names = view.node.path.split(".")
    endings = (".".join(names[start:]) for start in range(len(names)))
    return next((uses[ending] for ending in endings if ending in uses), otherwise)
