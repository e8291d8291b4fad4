"""A source becomes an open model: structure, formulas, weights."""
