"""The chapters of the report: each reads the subject and gives blocks."""
