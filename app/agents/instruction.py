"""Compact instructions: what the leader sends an agent, within the agent's token limit (§3.2 of the leader seed).

``Task: … | Format: … | Context: {hash}``. The rest of what the agent needs is its own context of the session; the hash
names it.
"""

from app.domain.plan import PlannedStep
from app.domain.tokens import BYTES_PER_TOKEN, estimated_tokens

LEAST_TOKENS = 40
"""Room for the frame and the hash."""
_FRAME_SHARE = 0.8


def compact(step: PlannedStep, token_limit: int, context_hash: str) -> str:
    """The instruction for one step; its task is cut where the limit demands, the hash never."""
    ending = f" | Format: JSON | Context: {context_hash}"
    frame = f" | Tool: {step.step.tool} | Queries: {len(step.queries)}{ending}"
    if estimated_tokens(frame) > token_limit * _FRAME_SHARE:  # a long name: the context tells the rest
        frame = ending
    task = f"Task: {step.step.message}"
    whole = task + frame
    if estimated_tokens(whole) <= token_limit:
        return whole
    room = int((token_limit - 1) * BYTES_PER_TOKEN) - len(frame.encode()) - len("…".encode())
    return task.encode()[: max(room, 0)].decode("utf-8", "ignore") + "…" + frame
