"""Tests of the report's dialog."""
