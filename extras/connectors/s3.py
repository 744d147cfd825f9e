"""An S3 bucket, of Amazon or of any server that speaks its protocol (MinIO, Ceph, …). Tags of objects are its lists."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, TypeVar

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import Field

from app.connectors.source import Item, ItemRefused, Reach, SourceKind, SourceLost
from app.domain.record import Record
from extras.connectors.reaching import AUTHORITY, checked_addresses, hosts_of
from extras.web.safe_http import AllowedHosts, SystemResolver

_Result = TypeVar("_Result")
ATTEMPTS = 3
"""At a request that may pass."""
_OF_ONE = frozenset(("AccessDenied", "NoSuchKey", "404", "403", "PreconditionFailed", "InvalidObjectState"))
"""Errors that are about one object."""


class Options(Record):
    """What of a bucket."""

    endpoint: Annotated[str, Field(pattern=r"^https?://[^\s/?#]+$", max_length=500)]
    """``https://s3.eu-central-1.amazonaws.com``, or that of your own server."""
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]
    prefix: Annotated[str, Field(max_length=500)] = ""
    """Only this folder; it is no part of the documents' names."""
    region: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$")] = "us-east-1"
    user: Annotated[str, Field(max_length=200)] = ""
    """The access key's id; its secret is the connector's. Empty = a bucket anybody may read."""


class S3Source:
    """Reads a bucket; every call of the library runs in a thread."""

    def __init__(self, options: Options, client: Any, hosts: AllowedHosts):
        self._options, self._client, self._hosts = options, client, hosts
        self._prefix = f"{folder}/" if (folder := options.prefix.strip("/")) else ""

    async def changes(self) -> str:
        """Nothing: a bucket has no mark of its own."""
        return ""

    async def list(self) -> AsyncIterator[Item]:
        """Every object, a thousand a request."""
        resolver, further = SystemResolver(), dict[str, str]()
        try:
            await checked_addresses(self._hosts, self._options.endpoint, resolver)
        finally:
            resolver.close()
        while True:
            page = await self._call(
                self._client.list_objects_v2, Bucket=self._options.bucket, Prefix=self._prefix, **further
            )
            for found in page.get("Contents", ()):
                key: str = found["Key"]
                if not key.endswith("/"):
                    yield Item(key.removeprefix(self._prefix), found.get("ETag", ""), found.get("Size"))
            if not page.get("IsTruncated"):
                return
            if not (token := page.get("NextContinuationToken")):
                raise SourceLost("A listing breaks off.")
            further = {"ContinuationToken": token}

    async def access(self, item: Item) -> frozenset[str]:
        """The object's tags, as ``key=value``."""
        found = await self._of_one(self._client.get_object_tagging, item)
        return frozenset(f"{one['Key']}={one['Value']}" for one in found.get("TagSet", ()))

    async def fetch(self, item: Item, most_bytes: int) -> bytes:
        """The object as it was listed; one that has changed since comes the next time."""
        found = await self._of_one(self._client.get_object, item, **({"IfMatch": item.tag} if item.tag else {}))
        if found.get("ContentLength", 0) > most_bytes:
            raise ItemRefused(f"larger than {most_bytes:,} bytes")
        content: bytes = await self._call(found["Body"].read, most_bytes + 1)
        if len(content) > most_bytes:
            raise ItemRefused(f"larger than {most_bytes:,} bytes")
        return content

    async def aclose(self) -> None:
        """Close the connections."""
        await asyncio.to_thread(self._client.close)

    async def _of_one(self, method: Callable[..., _Result], item: Item, **further: str) -> _Result:
        """A call about one object. Raises `ItemRefused` where only this one is the matter."""
        try:
            key = self._prefix + item.source_id
            return await asyncio.to_thread(method, Bucket=self._options.bucket, Key=key, **further)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in _OF_ONE:
                raise ItemRefused(f"the server answers {code}") from error
            raise SourceLost(f"The server answers {code or 'nothing'}.") from error
        except (BotoCoreError, OSError) as error:
            raise SourceLost(f"No whole answer came ({type(error).__name__}).") from error

    async def _call(self, method: Callable[..., _Result], *given: Any, **named: Any) -> _Result:
        """A call about the bucket. Raises `SourceLost`."""
        try:
            return await asyncio.to_thread(method, *given, **named)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            raise SourceLost(f"The server answers {code or 'nothing'} for the bucket.") from error
        except Exception as error:  # what a broken answer makes of the library's own reading
            raise SourceLost(f"No whole answer came ({type(error).__name__}).") from error


def open_s3(options: Options, reach: Reach) -> S3Source:
    """A bucket on a server the operator named. Never uses keys of the machine. Raises `AppError`."""
    hosts = hosts_of(reach, options.endpoint)
    keys = {"aws_access_key_id": options.user, "aws_secret_access_key": reach.secret} if options.user else {}
    config = Config(
        s3={"addressing_style": "path"}, connect_timeout=10, read_timeout=60, proxies={}, signature_version=None,
        retries={"total_max_attempts": ATTEMPTS, "mode": "standard"}, ignore_configured_endpoint_urls=True,
    )  # fmt: skip
    if not keys:
        config = config.merge(Config(signature_version=UNSIGNED))
    session = boto3.session.Session(region_name=options.region, **keys)
    verify = os.environ.get(AUTHORITY)
    client = session.client("s3", endpoint_url=options.endpoint, config=config, verify=verify)
    return S3Source(options, client, hosts)


S3 = SourceKind(Options, open_s3, has_lists=True)
