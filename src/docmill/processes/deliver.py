"""The part of a worker's process that delivers webhooks."""

from datetime import timedelta

from docmill.app import App
from docmill.processes.supervise import PartLife
from docmill.services.outbound import OutboundClient, read_rules
from docmill.settings import Settings
from docmill.webhooks.deliver import Deliverer, DeliveryRules
from docmill.webhooks.manage import ALLOW_SETTING


async def deliver_webhooks(settings: Settings, services: App, life: PartLife) -> None:
    """Until a stop: then what is under way ends, and what is not is left for others."""
    rules = DeliveryRules(keep=timedelta(days=settings.keep_deliveries_days))
    allowed = read_rules(ALLOW_SETTING, settings.webhook_allow)
    async with OutboundClient(allowed, timeout=rules.timeout) as client:
        deliverer = Deliverer(services.pool, client, rules, services.listen_url)
        life.stop_with(deliverer.stop)
        life.up()
        await deliverer.run()
