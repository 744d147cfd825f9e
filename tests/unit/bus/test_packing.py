from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bus import Message, Method
from app.bus.relay import TEXT_BYTES, pack, unpack
from tests.conformance.bus_adapters import message

names = st.text(max_size=30)
counts = st.none() | st.integers(0, 2**31)
deadlines = st.none() | st.integers(0, 4_000_000_000_000).map(lambda ms: datetime.fromtimestamp(ms / 1000, UTC))
messages = st.builds(
    Message, method=st.sampled_from(Method), topic=names, from_agent=names, to_agent=names, agent_type=names,
    tenant_id=st.uuids(), user_id=st.uuids(), session_id=st.uuids(), root_task_id=st.uuids(), task_id=st.uuids(),
    attempt=st.integers(0, 1_000), seq=counts, token_limit=counts, deadline=deadlines,
    payload=st.none() | st.fixed_dictionaries({"query": st.just("SECRET-QUESTION")}),
)  # fmt: skip


class TestPack:
    @given(st.lists(messages, max_size=60))
    def test_carries_everything_but_the_payload_in_order(self, told: list[Message]) -> None:
        texts = list(pack("here", told))
        assert all(len(text.encode()) <= TEXT_BYTES for text in texts)
        assert "SECRET" not in "".join(texts)
        read = [one for text in texts for one in unpack(text)[1]]
        assert read == [one.model_copy(update={"payload": None}) for one in told]
        assert {unpack(text)[0] for text in texts} <= {"here"}

    def test_leaves_out_what_fits_in_no_text(self) -> None:
        told = [message(seq=1), message("x" * 8_000, seq=2), message(seq=3)]
        assert [one.seq for text in pack("here", told) for one in unpack(text)[1]] == [1, 3]


class TestUnpack:
    @given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(repr))
    def test_refuses_anything_else(self, text: str) -> None:
        with pytest.raises(ValueError):
            unpack(text)

    @pytest.mark.parametrize("text", ['[1,"o",[],[]]', '["o",[[0]]]', '["o",[{"method":"TASK"}]]', "[" * 9_000])
    def test_refuses_other_versions_and_nonsense(self, text: str) -> None:
        with pytest.raises(ValueError):
            unpack(text)
