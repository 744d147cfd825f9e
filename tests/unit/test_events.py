"""What was written before an event learnt more is still read, and says the same."""

from app.events import EndProcess, Handover, StartProcess, TextDelta, read_event


class TestSpeakingStatus:
    def test_is_told_by_the_events_of_the_floor(self) -> None:
        assert StartProcess(agent="hr").model_dump() == {"type": "start_process", "agent": "hr", "active": True}
        assert EndProcess(agent="hr").model_dump() == {"type": "end_process", "agent": "hr", "active": False}
        passed = Handover(from_agent="hr", to_agent="it", reason="no_evidence")
        assert passed.speaking == {"hr": False, "it": True}
        assert read_event(passed.model_dump()) == passed

    def test_is_known_of_events_that_did_not_tell_it(self) -> None:
        for event in (StartProcess(agent="hr"), EndProcess(agent="hr")):
            assert read_event({"type": event.type, "agent": "hr"}) == event
        old = {"type": "handover", "from_agent": "hr", "to_agent": "it", "reason": "next_stage"}
        assert read_event(old) == Handover(from_agent="hr", to_agent="it", reason="next_stage")


class TestTextDelta:
    def test_says_who_speaks_only_where_that_is_known(self) -> None:
        assert TextDelta(text="a").model_dump() == {"type": "text_delta", "text": "a"}
        told = TextDelta(text="a", agent="hr", metadata={"streaming": True})
        assert told.model_dump()["metadata"] == {"streaming": True}
        assert read_event(told.model_dump()) == told
