"""A mind without a model: rules, word statistics and embeddings over the company's own passages.

`LocalReasoner` is the way in. By subject: `classify` (with `chitchat`, `exemplars`, `follow_up`, `decompose`),
`plan` (with `routing`, `intents`, `calculation`, `effects`, `plan_wording`), `review`, `answer` (with `question`,
`shapes`, `terms`, `glossary`, `sentences`, `scoring`, `confidence`, `selection`, `rendering`), `arguments` (with
`formula`, `numbers`, `math_arguments`, `log_arguments`), `summarise`, `compose` (with `further_questions`). What is
recognised and said stands in ``cues.txt``, ``glossary.jsonl``, ``exemplars.jsonl`` and `phrases`.
"""

from app.reasoning.local.reasoner import LocalReasoner

__all__ = ["LocalReasoner"]
