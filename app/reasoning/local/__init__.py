"""A mind without a model: rules, word statistics and embeddings over the company's own passages.

`LocalReasoner` is the way in. By subject: `classify` (with `chitchat`, `follow_up`, `decompose`, `as_of`),
`plan` (with `routing`, `intents`, `phrases`), `answer` (with `plain_reader`, `features`, `pieces`, `terms`,
`glossary`, `rendering`), `arguments` (with `sums`, `measures_and_days`, `math_arguments`, `times`,
`changes`), `summarise`, `compose`. What is recognised and said stands in
``cues.txt``, ``glossary.jsonl``, ``elsewhere.jsonl`` and ``sentences.json``.
"""

from app.reasoning.local.reasoner import LocalReasoner

__all__ = ["LocalReasoner"]
