"""LangGraph graphs. The department flow: orchestrate, reflect, execute, resolve, respond; nodes are thin."""
