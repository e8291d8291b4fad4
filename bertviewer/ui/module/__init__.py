"""Views of the selected module: formula, counts, source, walkthrough, facts."""
