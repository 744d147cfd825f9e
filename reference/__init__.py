"""The pages of `docs/reference` and the pictures of `docs/pictures`, made from the code they are about.

It stands beside the house and not in it: it may look into every room, and none imports it. ``python -m reference``
writes, ``python -m reference --check`` ends with 1 where a written page differs from what the code says now.
"""
