"""Reading what an answer cites, and finding the run of an earlier message."""

from collections.abc import Callable

import httpx

CORE_VALUES = "https://intra.acme.example/about/core-values"
PUNCTUALITY = "https://intra.acme.example/policies/punctuality"


class TestReading:
    async def test_gives_the_text_of_the_document_an_evidence_names(self, lan: httpx.AsyncClient) -> None:
        answer = (await lan.post("/chat", json={"query": "Công ty có những giá trị cốt lõi nào?"})).json()
        [url] = {one["url"] for one in answer["evidence"] if one["url"] == CORE_VALUES}
        [document] = (await lan.get("/reading", params={"url": url})).json()["documents"]
        assert document["title"] == "Giá trị cốt lõi của công ty"
        assert document["scope"] == "public"
        assert "Khách hàng trước tiên, Chính trực, Hợp tác, Kỷ luật" in document["text"]
        assert document["is_cut"] is False

    async def test_a_page_of_the_address_is_no_matter(self, lan: httpx.AsyncClient) -> None:
        assert (await lan.get("/reading", params={"url": f"{CORE_VALUES}#page=2"})).status_code == 200

    async def test_what_may_not_be_read_is_not_there(
        self, client_of: Callable[[str], httpx.AsyncClient], lan: httpx.AsyncClient
    ) -> None:
        assert (await lan.get("/reading", params={"url": PUNCTUALITY})).status_code == 200
        refusals = [
            await client_of("acme/an").get("/reading", params={"url": PUNCTUALITY}),
            await client_of("globex/jane").get("/reading", params={"url": CORE_VALUES}),
            await lan.get("/reading", params={"url": "https://intra.acme.example/nothing"}),
        ]
        assert [(one.status_code, one.json()["code"], one.json()["detail"]) for one in refusals] == [
            (404, "NOT_FOUND", "There is no such document.")
        ] * 3


class TestTitles:
    async def test_are_told_for_many_addresses_at_once(self, lan: httpx.AsyncClient) -> None:
        asked = {"url": [f"{CORE_VALUES}#page=3", CORE_VALUES, PUNCTUALITY, "https://intra.acme.example/nothing"]}
        told = (await lan.get("/reading/titles", params=asked)).json()["documents"]
        assert {one["url"]: one["title"] for one in told} == {
            CORE_VALUES: "Giá trị cốt lõi của công ty", PUNCTUALITY: "Quy định chấm công và đi muộn",
        }  # fmt: skip
        assert len(told) == 2 and all(one["created_at"] for one in told)

    async def test_of_what_may_not_be_read_are_left_out(self, client_of: Callable[[str], httpx.AsyncClient]) -> None:
        for user, seen in (("acme/an", [CORE_VALUES]), ("globex/jane", [])):
            told = await client_of(user).get("/reading/titles", params={"url": [CORE_VALUES, PUNCTUALITY]})
            assert [one["url"] for one in told.json()["documents"]] == seen

    async def test_are_asked_by_address(self, lan: httpx.AsyncClient) -> None:
        for asked in ({}, {"url": ""}, {"url": [CORE_VALUES] * 51}, {"url": "x" * 2_001}):
            refused = await lan.get("/reading/titles", params=asked)
            assert (refused.status_code, refused.json()["code"]) == (422, "PAYLOAD_INVALID")


class TestMessages:
    async def test_name_their_run(self, lan: httpx.AsyncClient) -> None:
        answer = (await lan.post("/chat", json={"query": "Đi muộn lần thứ 5 thì sao?"})).json()
        session = (await lan.get(f"/sessions/{answer['session_id']}")).json()
        assert [message["task_id"] for message in session["messages"]] == [answer["task_id"]] * 2
