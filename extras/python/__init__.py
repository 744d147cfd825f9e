"""Run short programs for computations that need loops, tables or text: `python_tool`, and the sandbox under it."""
