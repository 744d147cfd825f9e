"""Debian's nginx, installed or fetched (`make nginx`), in front of servers of tests and benches."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.chaos.machines import free_port, until

_KEPT = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
_PATIENCE_SECONDS = 30


def nginx() -> str | None:
    """Where the program is; None where there is none."""
    fetched = Path(__file__).parents[1] / ".venv/nginx/usr/sbin"
    return shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:{fetched}")


@asynccontextmanager
async def running_nginx(folder: Path, servers: Callable[[int], str]) -> AsyncIterator[str]:
    """Run one whose servers, told for a free port, stand in its configuration; gives its address once it listens there.
    `folder`, which is made, holds all it writes."""
    program, port = nginx(), free_port()
    assert program is not None, "there is no nginx on this machine, and none could be fetched: make nginx"
    folder.mkdir()
    user = "user root;" if os.geteuid() == 0 else ""
    kept = " ".join(f"{kind}_temp_path {folder / kind};" for kind in _KEPT)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder / 'pid'}; {user} events {{}} http {{ access_log off; {kept} {servers(port)} }}",
        "utf-8",
    )
    process = await asyncio.create_subprocess_exec(
        program, "-p", str(folder), "-e", str(folder / "errors"), "-c", str(folder / "nginx.conf")
    )

    async def listens() -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.close()
        return True

    try:
        await until(listens, _PATIENCE_SECONDS)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()
