"""The whole house over the bundled documents, and a small one that tests may break."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.main import Services
from app.settings import Settings
from tests.factories import with_demo_people
from tests.warm import planted

ROOT = Path(__file__).parents[2]
SMALL = ("hr/punctuality-2026.md", "hr/handbook-punctuality-2023.md", "general/core-values.md")
FINANCE_AGENT = """\
name: finance
description: {vi: "chuyên lĩnh vực ngân sách, thanh toán, hóa đơn nhà cung cấp", en: "budgets and invoices"}
tools:
  - {name: rag_tool}
  - {name: summary_tool}
exemplars:
  vi: ["Hạn thanh toán hóa đơn nhà cung cấp là bao lâu?", "Ai duyệt thay đổi ngân sách?", "Thủ tục tạm ứng tiền"]
  en: ["When are supplier invoices paid?", "Who approves a budget change?"]
"""
FINANCE_DOCUMENT = """\
---
title: Quy định thanh toán nhà cung cấp
url: https://intra.acme.example/finance/payments
scope: internal
created_at: 2026-05-04T02:00:00Z
authority: policy
external_id: acme-finance-payments
lang: vi
---
# Quy định thanh toán nhà cung cấp

## Hạn thanh toán

Hóa đơn nhà cung cấp được thanh toán trong vòng 21 ngày kể từ ngày nhận đủ chứng từ hợp lệ. Hóa đơn trên
200.000.000 đồng cần chữ ký của Giám đốc tài chính.

## Thay đổi ngân sách

Trưởng bộ phận được chuyển tối đa 10% giữa các khoản mục; phần vượt do Ban ngân sách duyệt vào thứ Ba hằng tuần.
"""


@pytest.fixture(scope="package")
def scratch() -> Iterator[Path]:
    """A short path: the server's socket lies in it."""
    folder = Path(tempfile.mkdtemp(prefix="conclave-house-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="package")
def small_seed(scratch: Path) -> Path:
    """A company with three of the bundled documents and a finance department."""
    tenant = scratch / "seed" / "acme"
    for name in SMALL:
        target = tenant / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "seed_data" / "acme" / name, target)
    (tenant / "finance").mkdir()
    (tenant / "finance" / "payments.md").write_text(FINANCE_DOCUMENT, "utf-8")
    return with_demo_people(tenant.parent)


@pytest.fixture(scope="package")
def agents_dir(scratch: Path) -> Path:
    """The operator's folder with one file in it."""
    folder = scratch / "agents"
    folder.mkdir()
    (folder / "finance.yaml").write_text(FINANCE_AGENT, "utf-8")
    return folder


@pytest.fixture(scope="package")
async def small_services(scratch: Path, small_seed: Path, agents_dir: Path) -> AsyncIterator[Services]:
    """A small company with a finance department; no worker runs until a test starts one."""
    settings = Settings(
        _env_file=None,
        data_dir=await planted(scratch / "small", small_seed),
        seed_dir=small_seed,
        agents_dir=agents_dir,
        task_lease_seconds=2,
    )
    opened = await Services.open(settings, work=False)
    yield opened
    await opened.aclose()


@pytest.fixture(scope="package")
async def services(scratch: Path) -> AsyncIterator[Services]:
    """Both companies with every bundled document, and a worker."""
    seed_dir = ROOT / "seed_data"
    settings = Settings(_env_file=None, data_dir=await planted(scratch / "full", seed_dir), seed_dir=seed_dir)
    opened = await Services.open(settings)
    yield opened
    await opened.aclose()
