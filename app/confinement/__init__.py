"""Processes for untrusted work: what one may ask of the kernel (`kernel`), and how functions run in them (`processes`).

`processes` is imported by its own name: whoever is confined loads nothing of it.
"""

from app.confinement.kernel import confine, detach, die_with_parent, granted_numbers, resident_bytes

__all__ = ["confine", "detach", "die_with_parent", "granted_numbers", "resident_bytes"]
