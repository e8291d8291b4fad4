"""Text to tokens.

Start in ``tokenization``: ``find_tokenizer`` returns the model's own tokenizer, which a helper
process reads, or a placeholder for a configuration without a vocabulary.
"""
