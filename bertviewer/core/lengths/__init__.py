"""How many tokens a model takes."""
