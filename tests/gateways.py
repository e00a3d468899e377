"""A real gateway on a real socket, and an invoice for it: `async with gateway() as url`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from docmill.core.jobs import JobId
from docmill.core.plugins import PDF
from docmill.db.pool import Pool
from docmill.invoices.gateway import Convert, create_app
from docmill.processes.gateway import make_converter
from docmill.sandbox.pool import SandboxPool
from docmill.storage.contract import Store
from docmill.web import server
from invoice_pdfs import paper
from road import add_stored_job
from workers import LIMITS as PATIENT

INVOICE = paper(
    [("1", "Kertas A4", "10", "50.000", "500.000"), ("2", "Tinta", "2", "250.000", "500.000")],
    [("Subtotal", "1.000.000"), ("PPN 11%", "110.000"), ("Total", "1.110.000")],
)
CORETAX = "pt_simon_invoice_v1"

MOST_BYTES = 50 << 20


@asynccontextmanager
async def gateway(port: int = 0) -> AsyncGenerator[str]:
    """With the real reader in confined runs."""
    async with (
        SandboxPool(PATIENT, pipelines=["invoice"]) as sandbox,
        served(make_converter(sandbox, 2), port) as url,
    ):
        yield url


@asynccontextmanager
async def served(convert: Convert, port: int = 0) -> AsyncGenerator[str]:
    bound: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        server.serve(create_app(convert, MOST_BYTES), "127.0.0.1", port, ready=bound.set_result)
    )
    await asyncio.wait({serving, bound}, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield f"http://127.0.0.1:{await bound}"
    finally:
        serving.cancel()
        await asyncio.wait({serving})


async def add_invoice(pool: Pool, store: Store, data: bytes, mapping: str, **options: Any) -> JobId:
    return await add_stored_job(
        pool, store, data, content_type=PDF, pipeline="invoice", mapping=mapping, options=options
    )
