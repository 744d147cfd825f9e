"""Processes for untrusted work: what one may ask of the kernel (`kernel`), and how functions run in them (`processes`).

Whoever is confined loads nothing of `processes`.
"""
