"""Views of a run: the sentence, its tokens, attention, layers, predictions; saved runs."""
