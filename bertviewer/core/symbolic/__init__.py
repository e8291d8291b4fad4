"""Sizes as formulas of the configuration: parameters, multiply-adds, memory, caches, what-if."""
