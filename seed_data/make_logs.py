"""Write the system logs of the two demo tenants: everyday noise, and a few stories one can ask about.

Run ``python seed_data/make_logs.py``; the same seeds write the same bytes. All times are UTC. The stories of `acme`:
a brute-force attack on vpn-gw-01 (12 November), db-01 filling up (15 to 19 November), the erp-01 outage on the way
(18 November), three failed backup nights (8 to 10 November), the ageing certificate of mail-01, a phishing wave
(5 November), many expired passwords on auth-01 (20 November) and a few errors of vpn-gw-01 every day. `globex` has a
small attack and an ageing certificate.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

Level = Literal["INFO", "WARN", "ERROR"]
FOLDER = Path(__file__).parent
LAST_DAY = date(2026, 11, 20)
DAYS = tuple(LAST_DAY - timedelta(days=back) for back in reversed(range(30)))
ATTACKER = "203.0.113.45"
OUTAGE_START = datetime(2026, 11, 18, 9, 20, tzinfo=UTC)
OUTAGE_END = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
FAILED_NIGHTS = (date(2026, 11, 8), date(2026, 11, 9), date(2026, 11, 10))
BACKUP_JOBS = (("erp-db", 18, 310, 45), ("gitlab-repos", 19, 120, 20), ("file-share", 20, 540, 70))
"""Name, hour of the start, usual size in GB and usual minutes of each nightly job."""


@dataclass(frozen=True, order=True, slots=True)
class Line:
    """One log line; orders by time, then source."""

    at: datetime
    source: str
    message: str
    level: Level = "INFO"
    department: str = "it"
    scope: str = "internal"

    def to_json(self) -> str:
        """Return the line as `POST /logs` takes it."""
        fields = {"logged_at": self.at.strftime("%Y-%m-%dT%H:%M:%SZ"), "level": self.level, "source": self.source}
        fields |= {"department": self.department, "scope": self.scope, "message": self.message}
        return json.dumps(fields, ensure_ascii=False)


class Template(NamedTuple):
    """An everyday message; `weight` says how often it is drawn, names in braces are filled by `everyday_values`."""

    weight: int
    level: Level
    source: str
    message: str
    department: str = "it"
    scope: str = "internal"


class Tenant(NamedTuple):
    """What to write for one tenant."""

    name: str
    seed: int
    users: tuple[str, ...]
    templates: tuple[Template, ...]
    lines_a_weekday: int
    lines_a_weekend_day: int
    stories: tuple[Callable[[Random], Iterator[Line]], ...]


SHARED_TEMPLATES = (
    Template(12, "INFO", "vpn-gw-01", "VPN session opened for user {user} from {ip}"),
    Template(7, "INFO", "vpn-gw-01", "VPN session closed for user {user} after {minutes} min, {mb} MB transferred"),
    Template(3, "WARN", "vpn-gw-01", "VPN tunnel dropped for user {user}: no answer, reconnected after {n} s"),
    Template(3, "WARN", "vpn-gw-01", "failed login for user {user} from {ip}: wrong password"),
    Template(14, "INFO", "auth-01", "login succeeded for user {user} from {lan}"),
    Template(4, "WARN", "auth-01", "failed login for user {user} from {lan}: wrong password"),
    Template(2, "WARN", "auth-01", "MFA prompt denied or timed out for user {user}"),
    Template(1, "WARN", "auth-01", "account locked for 30 minutes after 5 failed logins: user {user}"),
    Template(8, "INFO", "mail-01", "delivered {n} messages in the last minute, queue length {n2}"),
    Template(3, "WARN", "mail-01", "phishing mail quarantined for {user}: sender {sender}"),
    Template(2, "WARN", "mail-01", "message rejected: attachment of {mb} MB exceeds the limit of 25 MB"),
    Template(4, "INFO", "db-01", "slow query: {ms} ms, {n} rows"),
    Template(5, "INFO", "fw-01", "blocked {n} packets from {ip} to port 3389"),
    Template(2, "WARN", "fw-01", "port scan detected from {ip}, source blocked for 1 hour"),
    Template(3, "INFO", "fw-01", "policy change committed by {admin}: rule {n} updated", scope="private"),
    Template(3, "INFO", "auth-01", "sudo session opened by {admin} on db-01: ticket CHG-{ms}", scope="private"),
    Template(1, "WARN", "auth-01", "privileged role granted to user {user} by {admin} for 4 hours", scope="private"),
)
ACME_TEMPLATES = (
    *SHARED_TEMPLATES,
    Template(9, "INFO", "erp-01", "user {user} signed in, module {module}"),
    Template(4, "INFO", "erp-01", "import finished: {n} files, 0 errors"),
    Template(3, "WARN", "erp-01", "slow response: {ms} ms for GET /{module}"),
    Template(2, "ERROR", "erp-01", "HTTP 500 for POST /{module}: validation of record {ms} failed"),
    Template(1, "WARN", "erp-01", "failed login for user {user} from {lan}: wrong password"),
    Template(7, "INFO", "gitlab-01", "pipeline {ms} passed for project acme/{module}"),
    Template(3, "ERROR", "gitlab-01", "pipeline {ms} failed for project acme/{module}: stage test"),
    Template(1, "WARN", "gitlab-01", "failed login for user {user} from {lan}: wrong password"),
    Template(2, "INFO", "backup-01", "WAL segment received from db-01, delay {n} s"),
    Template(2, "INFO", "auth-01", "Helpdesk mở khóa tài khoản {user} sau khi xác minh qua máy lẻ 8888"),
    Template(2, "INFO", "print-01", "Máy in tầng 10 hết giấy khay {n2}", department="general"),
    Template(2, "WARN", "door-01", "Thẻ của {user} bị từ chối tại cửa phòng máy chủ tầng 12", department="general"),
    Template(2, "INFO", "hr-portal-01", "leave request submitted by {user}", department="hr"),
    Template(2, "INFO", "hr-portal-01", "payroll report exported by lan, {n} rows", department="hr", scope="private"),
    Template(2, "INFO", "erp-01", "user {admin} opened production console, session {ms}", scope="private"),
)
GLOBEX_TEMPLATES = (
    *SHARED_TEMPLATES,
    Template(8, "INFO", "web-01", "GET /checkout 200 in {ms} ms"),
    Template(3, "ERROR", "web-01", "HTTP 502 for GET /checkout: upstream timed out"),
)


def everyday_values(rng: Random, users: tuple[str, ...]) -> dict[str, str | int]:
    """Random values for the names a template may use."""
    return {
        "user": rng.choice(users),
        "admin": rng.choice(users[:3]),
        "ip": f"198.51.100.{rng.randint(2, 254)}",
        "lan": f"10.20.{rng.randint(1, 30)}.{rng.randint(2, 254)}",
        "n": rng.randint(2, 60),
        "n2": rng.randint(1, 4),
        "ms": rng.randint(1_200, 9_800),
        "mb": rng.randint(26, 900),
        "minutes": rng.randint(6, 470),
        "module": rng.choice(("orders", "inventory", "invoices", "shipments")),
        "sender": rng.choice(("billing@paynow.example", "it-support@sso-login.example", "giaohang@express.example")),
    }


def random_time(rng: Random, day: date) -> datetime:
    """A moment of `day`; four of five fall into Vietnamese office hours, 01:00 to 11:00 UTC."""
    hour = rng.randint(1, 10) if rng.random() < 0.8 else rng.randint(0, 23)
    return datetime.combine(day, time(hour, rng.randint(0, 59), rng.randint(0, 59)), UTC)


def times_between(rng: Random, start: datetime, end: datetime, count: int) -> list[datetime]:
    """`count` random moments in order, to the second, within `start` and `end`."""
    seconds = int((end - start).total_seconds())
    return sorted(start + timedelta(seconds=rng.randint(0, seconds)) for _ in range(count))


def everyday(rng: Random, tenant: Tenant) -> Iterator[Line]:
    """The noise of 30 days; erp-01 stays silent during its outage."""
    weights = [template.weight for template in tenant.templates]
    for day in DAYS:
        count = tenant.lines_a_weekday if day.weekday() < 5 else tenant.lines_a_weekend_day
        for template in rng.choices(tenant.templates, weights, k=count):
            at = random_time(rng, day)
            message = template.message.format_map(everyday_values(rng, tenant.users))
            if template.source != "erp-01" or not OUTAGE_START <= at <= OUTAGE_END:
                yield Line(at, template.source, message, template.level, template.department, template.scope)


def failed_login(user: str, address: str, reason: str = "wrong password") -> str:
    """The message of a failed login; the same words everywhere, so that they can be counted."""
    return f"failed login for user {user} from {address}: {reason}"


def brute_force(rng: Random) -> Iterator[Line]:
    """187 failed logins on vpn-gw-01 from one address; the automatic block fails, an engineer blocks it by hand."""
    start = datetime(2026, 11, 12, 2, 0, 12, tzinfo=UTC)
    names = ("admin", "administrator", "root", "support", "test", "ketoan", "vpn", "minh", "lan", "guest")
    for at in times_between(rng, start, start.replace(minute=56), 187):
        yield Line(at, "vpn-gw-01", failed_login(rng.choice(names), ATTACKER), "WARN")
    events: tuple[tuple[int, Level, str], ...] = (
        (9, "ERROR", f"automatic block of {ATTACKER} failed: block list full"),
        (34, "ERROR", f"alert: 100 failed logins from {ATTACKER}, incident P2 opened"),
        (57, "WARN", f"address {ATTACKER} blocked manually by linh for 24 hours"),
        (59, "INFO", f"audit: 0 successful logins from {ATTACKER}, incident P2 contained"),
    )
    for minute, level, message in events:
        yield Line(start.replace(minute=minute), "vpn-gw-01", message, level)


def disk_of_db(rng: Random) -> Iterator[Line]:
    """Disk usage of db-01 every 4 hours: slow growth, then 78 % to 96 % in five days, then a clean-up."""
    for index, day in enumerate(DAYS):
        for slot in range(6):
            percent = 62 + slot // 3 if day == LAST_DAY else 70 + index * 7 // 23
            if date(2026, 11, 15) <= day < LAST_DAY:
                percent = 78 + round(18 * ((day.day - 15) * 6 + slot) / 29)
            level: Level = "ERROR" if percent >= 90 else "WARN" if percent >= 80 else "INFO"
            at = datetime.combine(day, time(slot * 4, 0, rng.randint(1, 9)), UTC)
            yield Line(at, "db-01", f"disk usage {percent} % on /var/lib/postgresql", level)
    cleaned = datetime(2026, 11, 19, 22, 30, tzinfo=UTC)
    yield Line(cleaned, "db-01", "old WAL removed from /var/lib/postgresql, disk usage 96 % -> 62 %")


def outage_of_erp(rng: Random) -> Iterator[Line]:
    """45 minutes in which erp-01 answers 126 requests with HTTP 503, because db-01 takes no more connections."""
    yield Line(OUTAGE_START, "erp-01", "database connection pool exhausted: 400 of 400 connections in use", "ERROR")
    yield Line(OUTAGE_START, "db-01", "FATAL: remaining connection slots are reserved, 400 clients connected", "ERROR")
    for at in times_between(rng, OUTAGE_START, OUTAGE_END - timedelta(seconds=20), 126):
        path = rng.choice(("orders", "inventory", "invoices", "shipments", "login"))
        yield Line(at, "erp-01", f"HTTP 503 for GET /{path}: no database connection", "ERROR")
    alert = "alert: more than 10 HTTP 503 in 5 minutes, incident P1 opened"
    yield Line(OUTAGE_START + timedelta(minutes=9), "erp-01", alert, "ERROR")
    yield Line(OUTAGE_END - timedelta(minutes=4), "erp-01", "application restarted by bao, pool reset to 400", "WARN")
    yield Line(OUTAGE_END, "erp-01", "service restored after 45 minutes, health check passed")


def nightly_backups(rng: Random) -> Iterator[Line]:
    """Three jobs a night; on `FAILED_NIGHTS` each of them fails after three retries."""
    for day in DAYS:
        for job, hour, size, minutes in BACKUP_JOBS:
            at = datetime.combine(day, time(hour), UTC)
            yield Line(at, "backup-01", f"backup job {job} started")
            if day in FAILED_NIGHTS:
                yield from failed_backup(at, job)
            else:
                took = minutes + rng.randint(-5, 9)
                done = f"backup job {job} finished in {took} min, {size + rng.randint(-6, 12)} GB"
                yield Line(at + timedelta(minutes=took), "backup-01", done)
    for nights, consequence in ((2, "incident P2 opened"), (3, "CIO informed")):
        at = datetime.combine(FAILED_NIGHTS[nights - 1], time(22), UTC)
        yield Line(at, "backup-01", f"alert: backups failed {nights} nights in a row, {consequence}", "ERROR")
    repaired = datetime(2026, 11, 11, 7, 40, tzinfo=UTC)
    yield Line(repaired, "backup-01", "controller of /backup/pool1 reset by tung, repository reachable again")


def failed_backup(start: datetime, job: str) -> Iterator[Line]:
    """Three retries ten minutes apart, then the failure."""
    for attempt in range(1, 4):
        at = start + timedelta(minutes=10 * attempt)
        yield Line(at, "backup-01", f"backup job {job}: /backup/pool1 not reachable, retry {attempt} of 3", "WARN")
    message = f"backup job {job} failed: repository /backup/pool1 not reachable (I/O error)"
    yield Line(start + timedelta(minutes=32), "backup-01", message, "ERROR")


def certificate(source: str, host: str, expires: date) -> Callable[[Random], Iterator[Line]]:
    """A story: one warning a day during the last 30 days of a certificate, an error during the last 7."""

    def warnings(rng: Random) -> Iterator[Line]:
        for day in DAYS:
            left = (expires - day).days
            if 0 <= left <= 30:
                at = datetime.combine(day, time(1, 0, rng.randint(0, 59)), UTC)
                message = f"TLS certificate for {host} expires in {left} days ({expires})"
                yield Line(at, source, message, "ERROR" if left <= 7 else "WARN")

    return warnings


def phishing_wave(rng: Random) -> Iterator[Line]:
    """27 messages of one campaign, quarantined on 5 November."""
    start = datetime(2026, 11, 5, 8, 5, tzinfo=UTC)
    campaign = "sender hoadon@acme-invoice.example, subject 'Hóa đơn điện tử quá hạn thanh toán'"
    for at in times_between(rng, start, start + timedelta(minutes=50), 27):
        yield Line(at, "mail-01", f"phishing mail quarantined for {rng.choice(ACME_USERS)}: {campaign}", "WARN")


def expired_passwords(rng: Random) -> Iterator[Line]:
    """34 failed logins on auth-01 on the last day: passwords set 180 days ago have expired."""
    start = datetime(2026, 11, 20, 0, 50, tzinfo=UTC)
    for at in times_between(rng, start, start + timedelta(hours=3), 34):
        message = failed_login(rng.choice(ACME_USERS), f"10.20.{rng.randint(1, 30)}.9", "password expired")
        yield Line(at, "auth-01", message, "WARN")


def vpn_errors(rng: Random) -> Iterator[Line]:
    """A few real errors of vpn-gw-01 a day: most are handshakes that time out, some an answer that never came."""
    for day in DAYS:
        for count, message in (
            (rng.randint(5, 8), "TLS handshake with {ip} timed out after {n} s"),
            (rng.randint(1, 3), "RADIUS server auth-01 did not answer within {n} s, login of user {user} given up"),
            (1, "address pool staff exhausted: no address for user {user}"),
        ):
            for _ in range(count):
                values = everyday_values(rng, ACME_USERS)
                yield Line(random_time(rng, day), "vpn-gw-01", message.format_map(values), "ERROR")


def globex_attack(rng: Random) -> Iterator[Line]:
    """48 failed logins on auth-01 of globex from one address on 13 November."""
    start = datetime(2026, 11, 13, 14, 0, tzinfo=UTC)
    for at in times_between(rng, start, start + timedelta(minutes=25), 48):
        yield Line(at, "auth-01", failed_login(rng.choice(GLOBEX_USERS), "192.0.2.77"), "WARN")
    yield Line(start.replace(minute=26), "auth-01", "address 192.0.2.77 blocked for 24 hours", "WARN")


ACME_USERS = ("minh", "linh", "bao", "huy", "tung", "lan", "hoa", "an", "ha", "mai", "quang", "trang", "duc", "my")
GLOBEX_USERS = ("raj", "kevin", "olga", "jane", "tom", "maria", "chen", "paul")
ACME_STORIES = (brute_force, disk_of_db, outage_of_erp, nightly_backups, phishing_wave, expired_passwords)
MAIL_CERTIFICATE = certificate("mail-01", "mail.acme.example", date(2026, 12, 5))
SHOP_CERTIFICATE = certificate("web-01", "shop.globex.example", date(2026, 11, 24))
TENANTS = (
    Tenant("acme", 20261121, ACME_USERS, ACME_TEMPLATES, 122, 70, (*ACME_STORIES, MAIL_CERTIFICATE, vpn_errors)),
    Tenant("globex", 7, GLOBEX_USERS, GLOBEX_TEMPLATES, 24, 14, (globex_attack, SHOP_CERTIFICATE)),
)


def lines_of(tenant: Tenant) -> list[Line]:
    """Every line of a tenant, oldest first."""
    rng = Random(tenant.seed)
    lines = list(everyday(rng, tenant))
    for story in tenant.stories:
        lines += story(rng)
    return sorted(lines)


def main() -> None:
    """Write ``<tenant>/logs.jsonl`` beside this file for each tenant."""
    for tenant in TENANTS:
        lines = lines_of(tenant)
        path = FOLDER / tenant.name / "logs.jsonl"
        path.write_text("".join(line.to_json() + "\n" for line in lines), encoding="utf-8", newline="\n")
        sys.stdout.write(f"{path}: {len(lines)} lines\n")


if __name__ == "__main__":
    main()
