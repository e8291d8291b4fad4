"""Jobs for the worker thread: the queue, its priorities, and what jobs return."""
