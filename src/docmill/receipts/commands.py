"""docmill receipt: the signed statement about a result, from a running docmill."""

import asyncio

from docmill.cli.output import Output, open_output
from docmill.cli.remote import RemoteClient, Token, Url
from docmill.client.asynchronous import HERE
from docmill.jobs.commands import Id, resolve_id


def write_receipt(job_id: Id, output: Output = None, url: Url = HERE, token: Token = None) -> None:
    """Print the receipt of a job's result, or write it to a file.

    docmill receipt 3f2a -o 3f2a.receipt.json
    """
    receipt = asyncio.run(_fetch_receipt(RemoteClient(url, token), job_id))
    with open_output(output) as file:
        file.write(receipt)


async def _fetch_receipt(client: RemoteClient, job_id: str) -> bytes:
    async with client:
        return await client.receipt(await resolve_id(client, job_id))
