"""What docmill can do without, and how to have it."""


def advise_extra(extra: str) -> str:
    """docmill is in no index: its extras come from its own folder."""
    return f"Run `make extras` in docmill's folder, or install docmill with its extra `{extra}`."
