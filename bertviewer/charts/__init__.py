"""Figures as plain data, without Qt: charts, tables, flows laid out, and what makes them."""
