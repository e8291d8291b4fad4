"""Formulas of counts and sizes: symbols, polynomials, domains, and their values."""
