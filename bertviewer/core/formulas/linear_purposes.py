"""What a small module is for, by its place: the longest ending that fits its path wins."""

from collections.abc import Mapping

from bertviewer.core.formulas.module_view import ModuleView


def _by_ending(endings: Mapping[str, str]) -> dict[str, str]:
    """Return a text by each ending of a path, from the endings that each text is for."""
    return {ending: text for text, of_text in endings.items() for ending in of_text.split()}


LINEAR_USES = _by_ending(
    {
        "Makes the queries: what each position looks for.": (
            "query q_lin q_proj query_proj SelfAttention.q EncDecAttention.q attn.q"
        ),
        "Makes the keys: what each position can be found by.": (
            "key k_lin k_proj key_proj SelfAttention.k EncDecAttention.k attn.k"
        ),
        "Makes the values: what each position hands on to those that look at it.": (
            "value v_lin v_proj value_proj SelfAttention.v EncDecAttention.v attn.v"
        ),
        "Makes queries, keys and values in one product, side by side.": "c_attn",
        "Narrows the layer's input to the width that the layer works in.": "bottleneck.input.dense",
        "Narrows the layer's input to what queries and keys are made of.": (
            "bottleneck.attention.dense"
        ),
        "Widens what the layer gives back to the model's width.": "output.bottleneck.dense",
        "Mixes the heads' outputs into one vector per position.": (
            "crossattention.output.dense attention.output.dense attention.dense attn.c_proj "
            "attn.out_proj self_attn.out_proj multihead_attn.out_proj out_lin o_proj "
            "SelfAttention.o EncDecAttention.o attn.o encoder_attn.out_proj attn.Wo"
        ),
        "Widens each position's vector for the feed-forward network.": (
            "intermediate.dense ffn lin1 linear1 c_fc fc1 wi"
        ),
        "Brings the feed-forward network back to the model's width.": (
            "output.dense ffn_output lin2 linear2 mlp.c_proj fc2 wo down_proj mlp.Wo"
        ),
        "Maps the first token's vector; the pooler's activation follows.": "pooler.dense",
        "Maps the first token's vector; a tanh follows.": "pooler",
        "Prepares each position's vector for the prediction of its token.": (
            "transform.dense vocab_transform"
        ),
        "Gives one score (logit) for each entry of the vocabulary.": (
            "decoder lm_head vocab_projector generator_lm_head"
        ),
        "Gives two scores: sentence B follows sentence A, or it does not.": "seq_relationship",
        "Gives two scores per token: the answer starts here, the answer ends here.": "qa_outputs",
        "Makes queries, keys and values in one product, one below the other.": "Wqkv",
        "Makes keys of the relative distances: what each distance can be found by.": "pos_key_proj",
        "Makes queries of the relative distances: what each distance looks for.": "pos_query_proj",
        "Decides, after its activation, how much of each feature passes the gate.": (
            "gate_proj wi_0"
        ),
        "Widens each position's vector; the gate weights what it gives.": "up_proj wi_1",
        "Widens each position's vector twice over: one half is the gate of the other.": "mlp.Wi",
        "Prepares each position's vector for what the model predicts from it.": "head.dense",
        "Gives one score (logit) per class.": "classifier classifier.out_proj score",
        "Maps the narrow embeddings to the model's width.": (
            "embedding_hidden_mapping_in embeddings_project"
        ),
    }
)

EMBEDDING_USES = _by_ending(
    {
        "Gives each token of the vocabulary its vector.": (
            "word_embeddings embedding wte shared embed_tokens tok_embeddings"
        ),
        "Gives each position in the sequence its vector.": (
            "embed_positions position_embeddings wpe"
        ),
        "Gives each distance of two positions its bias, one per head.": "relative_attention_bias",
        "Gives each distance of two positions its vector.": "rel_embeddings",
        "Gives each segment, first sentence or second, its vector.": "token_type_embeddings",
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
