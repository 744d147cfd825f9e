"""A mind without a model: rules, word statistics and embeddings over the company's own passages.

`LocalReasoner` is the way in. By subject: `classify` (with `chitchat`, `follow_up`), `plan` (with `routing` and
`intents`), `answer` (with `plain_reader`, `features`, `pieces`, `terms`), `arguments` (with `sums`, `changes`),
`rendering`, `compose`. What is recognised and said stands in ``cues.txt``, ``glossary.jsonl``,
``elsewhere.jsonl`` and ``sentences.json``.
"""

from app.reasoning.local.reasoner import LocalReasoner

__all__ = ["LocalReasoner"]
