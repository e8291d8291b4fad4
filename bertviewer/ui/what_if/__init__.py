"""The tab that asks what other sizes would give."""
