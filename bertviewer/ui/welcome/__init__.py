"""Start page: recent and built-in models, a drop area, and questions that the demo answers.

Start with ``page``, which shows ``start_page`` or the progress of opening. ``questions`` is the
table of questions, ``question_runner`` opens, runs and answers them.
"""
