"""The evaluation room: questions whose right answers are known, asked of the real flow, judged, and reported.

``question`` and ``dataset`` read the format of `docs/evaluation.md`; ``running`` asks through a port; ``observed`` is
what a run told, ``judging`` compares it with what was expected; ``ranking``, ``rates``, ``calibration`` and
``intervals`` are the formulas; ``summary`` makes a ``report`` of them; ``gates`` and ``comparison`` decide; ``page``
draws. Nothing here knows HTTP, a terminal or the settings.
"""
