"""The data-flow graph of a model, traced from a forward pass, with recognised patterns.

``tracing_models`` runs a model and ``tracing`` records it as a ``trace``; ``trace_graph`` says
which operation reads which, ``patterns`` recognises what belongs together, and ``flow_reader``
writes the graph (``Flow``) of each module. ``module_graph`` is a flow for templates of formulas.
"""
