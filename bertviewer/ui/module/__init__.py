"""The selected module: the inspector, and the tabs Formula, Source, Configuration, Walkthrough.

Start with ``inspector_page``; ``facts`` has everything that is listed there. Each ``…_tab`` is one
tab of the middle.
"""
