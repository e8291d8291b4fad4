"""What-if tab: other configuration values, and the counts, costs and shapes that follow.

Start with ``tab``. ``config_controls`` has the fields, ``results`` what is computed from them.
"""
