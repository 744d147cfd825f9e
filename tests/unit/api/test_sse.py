"""Events on the wire."""

import json
from typing import Any
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from app.api.sse import frame
from app.events import Event, JournalEntry, Progress, TaskAvailable, TextDelta
from tests.api.sse_reader import parse

WRITABLE = st.text(st.characters(exclude_categories=["Cs"]))


def wire(seq: int, event: Event) -> str:
    return frame(JournalEntry(seq=seq, event=event)).encode().decode()


class TestFrame:
    @given(st.text(st.sampled_from('\r\n\x00\u2028\u2029\x85:  dataidevent{}"\\')) | WRITABLE)
    def test_cannot_be_split_by_any_text(self, text: str) -> None:
        (seen,) = parse(wire(3, TextDelta(text=text)))
        assert (seen.seq, seen.type, seen.data) == (3, "text_delta", {"type": "text_delta", "text": text})

    def test_of_progress_is_the_seed_object_alone(self) -> None:
        output: dict[str, Any] = {"processing_status": "plan_ready", "progress_percentage": 75}
        (seen,) = parse(wire(4, Progress(node="execute_planning", output=output)))
        assert seen.data == {"node": "execute_planning", "output": output}

    def test_is_one_data_line(self) -> None:
        task_id = uuid4()
        text = wire(1, TaskAvailable(task_id=task_id, session_id=task_id, query="một\nhai"))
        assert [line.partition(":")[0] for line in text.splitlines() if line] == ["id", "event", "data"]
        assert json.loads(text.split("data: ")[1])["task_id"] == str(task_id)
