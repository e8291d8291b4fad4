"""Building blocks of views: data views, chart panels, tables, pages, empty states and links.

``data_view`` has the base class of views whose data the worker computes; ``chart_panel`` shows a
chart, ``figure_view`` a table, and ``pages`` builds and refreshes what is in sight.
"""
