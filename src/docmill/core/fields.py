from enum import StrEnum


class ValueKind(StrEnum):
    """What a value shall be."""

    TEXT = "text"
    AMOUNT = "amount"
    NUMBER = "number"
    INTEGER = "integer"
    DATE = "date"
    ID = "id"
    CURRENCY = "currency"
    YES_NO = "yes/no"
