"""The metrics of a report by name: what they are called, what they mean, and which way is better."""

from typing import Literal, NamedTuple

from app.evaluation.judging import CUT


class Metric(NamedTuple):
    """A rate of a report."""

    name: str
    title: str
    meaning: str
    better: Literal["higher", "lower"] = "higher"


METRICS: tuple[Metric, ...] = (
    Metric("right", "right", "share of questions where everything that was expected holds"),
    Metric("fully_right", "fully right", "graded questions with every fact and nothing stale, or rightly refused"),
    Metric("partly", "partly right", "graded questions with some of the facts, or with a stale value", "lower"),
    Metric("wrong_answered", "wrong and answered", "graded questions answered with no fact, or unduly", "lower"),
    Metric("wrong_hedged", "wrong and hedged", "the same, but the outcome is partial or conflict", "lower"),
    Metric("wrongly_refused", "wrongly refused", "graded questions with an answer that got none", "lower"),
    Metric("extra", "extra sentences", "share of answers with a sentence that does not belong", "lower"),
    Metric("stale", "stale", "share of answers that tell a superseded value without a note", "lower"),
    Metric("facts", "facts", "share of answers that hold every expected fact and day"),
    Metric("recall", f"recall@{CUT}", f"evidence: expected documents among the first {CUT} cited, mean share"),
    Metric("mrr", "MRR", "evidence: 1 ÷ rank of the first expected document, mean"),
    Metric("ndcg", f"nDCG@{CUT}", "evidence: order of the expected documents against the best, mean"),
    Metric("outcome", "outcome", "share of answers whose outcome is the expected or an accepted one"),
    Metric("not_found_precision", "not found: precision", "of the answers “not found”, the share that is due"),
    Metric("not_found_recall", "not found: recall", "of the questions nobody may answer, the share told so"),
    Metric("not_found_f1", "not found: F1", "harmonic mean of the two"),
    Metric("routing", "routing", "share of questions for which every needed agent was asked"),
    Metric("routing_precision", "routing: precision", "of the agents that were asked, the share that was needed"),
    Metric("conflict_precision", "conflict: precision", "of the reported disagreements, the share that is one"),
    Metric("conflict_recall", "conflict: recall", "of the disagreements, the share that was reported"),
    Metric("conflict_f1", "conflict: F1", "harmonic mean of the two"),
    Metric("conflict_type", "conflict: type", "share of the reported disagreements of the expected type"),
    Metric("winner", "winner", "of the reported disagreements with a known winner, the share decided for it"),
    Metric("leaking", "leaking answers", "share of runs that showed what their asker may not know", "lower"),
)
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}
LEADING = ("right", "wrong_answered", "facts", "recall", "outcome")
"""Those that are shown for every group."""
