"""All that an operator can set: environment first, then docmill.toml. Read once, frozen."""

from docmill.settings.fields import (
    CONFIG,
    OTHER_NAMES,
    PREFIX,
    ConfigError,
    RetryRule,
    Settings,
    SourceRule,
    fields,
)
from docmill.settings.loading import (
    adapt_for_serve,
    is_for_one_person,
    is_loopback,
    read_settings,
)
from docmill.settings.rules import BreakerRule, PriceName, RetentionRule

__all__ = [
    "CONFIG",
    "OTHER_NAMES",
    "PREFIX",
    "BreakerRule",
    "ConfigError",
    "PriceName",
    "RetentionRule",
    "RetryRule",
    "Settings",
    "SourceRule",
    "adapt_for_serve",
    "fields",
    "is_for_one_person",
    "is_loopback",
    "read_settings",
]
