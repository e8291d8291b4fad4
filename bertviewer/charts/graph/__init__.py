"""Layout of data-flow graphs as drawings, without Qt.

``layout.draw`` returns a ``Drawing``; ``draw_items`` makes it outlines and labels with colours for
painters, ``svg`` and ``dot`` text. Start with ``layout``.
"""
