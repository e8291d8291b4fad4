"""Models, runs, checks and statistics as plain data, without torch.

Start with ``architecture`` (a model) and ``activation_run`` (a run of it); ``modules``, ``flow``
(data-flow graphs) and ``costs`` are their parts.
"""
