"""Inputs for models of every kind, from the parameters of their forward and their configuration.

Start with ``choices.input_choices``.
"""
