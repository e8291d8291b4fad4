"""The walkthrough of a model: its steps in execution order, with shapes and parameter counts.

Start with ``build.build_walkthrough``; ``walkthrough.py`` has the result as plain data.
"""
