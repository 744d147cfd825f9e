from app.reasoning.local.terms import bag_of, share_in, stemmed, terms_of


def share(question: str, text: str, *, folded: bool = False) -> float:
    return share_in(question, bag_of(text, folded), folded)


class TestCoverage:
    def test_synonyms_count_as_the_word_itself(self) -> None:
        assert share("đi muộn", "Nhân viên đến trễ phải báo quản lý.") == 1

    def test_a_subject_is_recognised_in_the_other_language(self) -> None:
        assert share("annual leave", "Nhân viên được nghỉ phép năm 14 ngày.") == 1

    def test_text_without_diacritics_meets_accented_text_when_folded(self) -> None:
        assert share("mat khau", "Mật khẩu có tối thiểu 12 ký tự.", folded=True) == 1

    def test_what_is_missing_weighs_by_how_much_it_tells(self) -> None:
        told = share("nhân viên nghỉ phép", "Ngày phép được tính theo tháng.")
        assert 0.8 < told < 1

    def test_nothing_in_common_is_nothing(self) -> None:
        assert share("mật khẩu", "Phòng họp ở tầng 10.") == 0

    def test_initials_are_told_by_a_name_of_three_words(self) -> None:
        assert share("ICO", "The Information Commissioner's Office is told within 72 hours.") == 0
        assert share("ICO", "Tell the Information Commissioner's Office within 72 hours.") == 1
        assert share("BHXH", "Nộp cho Bảo Hiểm Xã Hội trước ngày 5.") == 1
        assert share("IT", "Information Technology answers.") == 0


class TestTerms:
    def test_asking_words_are_not_terms(self) -> None:
        assert terms_of("Nghỉ phép năm được bao nhiêu ngày?")[0].stems == ("nghỉ", "phép", "năm")
        assert ("nhiêu",) not in {term.stems for term in terms_of("Nghỉ phép năm được bao nhiêu ngày?")}


class TestStems:
    def test_english_endings_are_cut_and_vietnamese_syllables_kept(self) -> None:
        assert stemmed("policies approved booking") == stemmed("policy approve book")
        assert stemmed("paid") == stemmed("pay")
        assert stemmed("ngày thay đổi") == ("ngày", "thay", "đổi")
