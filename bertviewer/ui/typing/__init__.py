"""While a sentence is typed: its tokens are counted in the background and shown beside it."""
