"""Which of the found documents are about a subject."""

from extras.changes.telling import about
from tests.factories import passage, stable_id

LEAVE = passage("Được nghỉ 14 ngày.", document="leave", title="Chính sách nghỉ phép năm 2026")
TRAVEL = passage("Được phép tạm ứng.", document="travel", title="Chính sách chi phí công tác")
SICK = passage("Nghỉ ốm cần giấy.", document="sick", title="Hướng dẫn bảo hiểm", section="Nghỉ phép khi ốm")


def nothing(_text: str) -> frozenset[str]:
    return frozenset()


def meanings(text: str) -> frozenset[str]:
    return frozenset({"leave"} if "leave" in text or "nghỉ phép" in text else set())


class TestAbout:
    def test_by_title_before_heading_before_words(self) -> None:
        found = about("Quy định nghỉ phép", [LEAVE, TRAVEL, SICK], nothing, 0.3)
        assert {name: found[stable_id(name)].by for name in ("leave", "sick")} == {"leave": 2, "sick": 1}
        assert stable_id("travel") not in found

    def test_without_diacritics(self) -> None:
        found = about("quy dinh nghi phep", [LEAVE, TRAVEL], nothing, 0.3)
        assert set(found) == {stable_id("leave")}

    def test_in_the_other_language_by_what_is_meant(self) -> None:
        assert about("The leave policy", [LEAVE], nothing, 0.3) == {}
        assert set(about("The leave policy", [LEAVE, TRAVEL], meanings, 0.3)) == {stable_id("leave")}

    def test_what_is_far_less_relevant_is_not(self) -> None:
        far = LEAVE.model_copy(update={"document_id": stable_id("far"), "relevance_score": 0.4})
        assert set(about("nghỉ phép", [LEAVE, far], nothing, 0.3)) == {stable_id("leave")}
        assert about("nghỉ phép", [far], nothing, 0.5) == {}
