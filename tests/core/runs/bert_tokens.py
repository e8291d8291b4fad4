"""BERT's token configuration and the texts of tokens."""

from bertviewer.core.schema.activation_run import Token

BERT = {
    "model_type": "bert",
    "vocab_size": 30522,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}


def texts(tokens: tuple[Token, ...]) -> list[str]:
    return [token.text for token in tokens]
