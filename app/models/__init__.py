"""Models that lie in the data directory: a catalogue of them, their download, and a llama.cpp process that serves one.

Nothing here reaches another host unless `download.pull` is called. What is asked of a model stands in `app.reasoning`.
"""
