"""Command palette: search for modules, tensors, questions, commands, settings and models.

``sources`` and ``topics`` list what can be found, ``search`` and ``matching`` find it, and
``popup`` shows it. ``palette`` has the field in the top bar.
"""
