"""Sizes as formulas of the configuration: shapes, parameters, multiply-adds, memory, caches.

``counts.derive`` is the entry point for parameters. ``models`` builds models with other numbers,
``observations`` fits formulas to them, and ``solver`` finds the conditions under which they hold.
"""
