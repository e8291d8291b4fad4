"""Structure panel: the module tree with filter, columns and sorting.

Start with ``panel``. ``rows`` holds the flat list of rows and ``model`` shows it to Qt; ``columns``
and ``filter`` have the tables of columns and of filter keys.
"""
