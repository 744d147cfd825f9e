"""A small company for the browser: some of the bundled documents, and two that nobody can choose between."""

import shutil
from pathlib import Path

from tests.factories import with_demo_people

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "general/core-values.md", "hr/punctuality-2026.md", "hr/annual-leave-2024.md", "hr/annual-leave-2026.md",
    "hr/remote-work-2025.md", "hr/remote-work-notice-2026-11.md", "it/account-faq.md", "it/password-policy-2023.md",
    "it/password-policy-2026.md", "it/vpn-access.md",
)  # fmt: skip
SEED_QUESTION = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"
DECIDED = "Được làm việc từ xa mấy ngày một tuần?"
"""Two sources disagree and one holds."""
UNDECIDED = "Phí gửi ô tô hằng tháng là bao nhiêu?"
"""Two sources disagree and weigh the same."""
UNDECIDED_EN = "What does it cost to rent a bicycle for a month?"
LATE = "Đi muộn lần thứ 5 trong tháng bị xử lý thế nào?"
VPN = "còn VPN thì sao?"
"""After `LATE` this is for another department."""
DEDUCTION = "Nhân viên đi muộn 6 lần trong tháng thì bị khấu trừ tổng cộng bao nhiêu tiền?"
"""For a deep answer."""
_DOCUMENT = """\
---
title: {title}
url: https://intra.acme.example/general/{slug}
scope: internal
created_at: {day}T02:00:00Z
authority: policy
external_id: acme-general-{slug}
lang: {lang}
---
# {title}

## {section}

{rule}
"""
_UNDECIDED = (
    (
        "vi",
        "car-parking",
        "Nội quy bãi đỗ xe",
        "2026-08-03",
        "Phí gửi xe",
        "Phí gửi ô tô hằng tháng là 1.200.000 đồng.",
    ),
    ("vi", "building", "Thông báo của tòa nhà", "2026-08-12", "Bãi xe", "Phí gửi ô tô hằng tháng là 1.500.000 đồng."),
    ("en", "bicycles", "Company bicycles", "2026-08-03", "Fee", "Renting a bicycle for a month costs 10 USD."),
    ("en", "green", "Green commuting", "2026-08-10", "Bicycles", "Renting a bicycle for a month costs 15 USD."),
)


def plant(folder: Path) -> Path:
    """Write the company's seed folder; gives it back."""
    tenant = folder / "acme"
    for name in DOCUMENTS:
        copy = tenant / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "seed_data" / "acme" / name, copy)
    for lang, slug, title, day, section, rule in _UNDECIDED:
        text = _DOCUMENT.format(lang=lang, slug=slug, title=title, day=day, section=section, rule=rule)
        (tenant / "general" / f"{slug}.md").write_text(text, "utf-8")
    return with_demo_people(folder)
