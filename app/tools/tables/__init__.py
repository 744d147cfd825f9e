"""Questions to tables: which columns and rows are asked for (`question`), and the exact answer (`query`).

Pure functions over stored cells; nothing a cell says is ever run.
"""
