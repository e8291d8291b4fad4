"""The algebra of formulas: symbols of a configuration, polynomials, conditions, and evaluation.

Formulas are stored as text, such as ``N*(12*D**2 + 13*D)``; start with ``evaluation``.
"""
