"""Ask the real flow questions whose right answers are known, judge the answers, and report.

``question``, ``fact`` and ``dataset`` read the format of `docs/evaluation.md`; ``running`` asks through a port;
``observed`` is what a run told, ``judging`` compares it with what was expected; ``figures`` are the formulas, which
``report`` sums up; ``gates`` hold limits against a report, and ``report_store`` keeps it.
Nothing here knows HTTP, a terminal or the settings.
"""
