"""Counts, shapes and costs of a model with other numbers in its configuration.

``sheet`` holds the formulas and rules of one model, ``scenario`` evaluates them for changed values,
``rebuilding`` builds the model where they do not hold.
"""
