"""Map tab: the model's data flow with zoom into nested parts, its blocks as a strip, a treemap.

Start with ``tab``. ``canvas`` shows the drawings that ``drawing_cache`` lays out, through a
``viewport``; ``hover`` is the base class of canvas, strip and treemap.
"""
