"""The fields of KEDA's objects that deploy/ uses, by hand from its reference (2.17).

No package of Python carries the definitions; a field that is not here does not pass.
"""

from typing import Any, Final


def _closed(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


TEXT: Final = {"type": "string"}
COUNT: Final = {"type": "integer", "minimum": 0}
METADATA: Final = _closed(
    ("name",), name=TEXT, namespace=TEXT, labels={"type": "object", "additionalProperties": TEXT}
)
KIND: Final = {"apiVersion": {"const": "keda.sh/v1alpha1"}, "metadata": METADATA}

# Of the trigger `postgresql`: the address comes from the authentication.
POSTGRESQL: Final = _closed(
    ("type", "metadata", "authenticationRef"),
    type={"const": "postgresql"},
    metricType={"enum": ["AverageValue", "Value"]},
    metadata=_closed(
        ("query", "targetQueryValue"),
        query=TEXT,
        targetQueryValue={"type": "string", "pattern": r"^[0-9.]+$"},
        activationTargetQueryValue=TEXT,
    ),
    authenticationRef=_closed(("name",), name=TEXT),
)
SCALED_OBJECT: Final = _closed(
    ("apiVersion", "kind", "metadata", "spec"),
    **KIND,
    kind={"const": "ScaledObject"},
    spec=_closed(
        ("scaleTargetRef", "triggers"),
        scaleTargetRef=_closed(("name",), name=TEXT, kind=TEXT, apiVersion=TEXT),
        pollingInterval=COUNT,
        cooldownPeriod=COUNT,
        minReplicaCount=COUNT,
        maxReplicaCount=COUNT,
        advanced=_closed(
            (),
            horizontalPodAutoscalerConfig=_closed(
                (),
                behavior=_closed(
                    (), scaleDown=_closed((), stabilizationWindowSeconds=COUNT),
                    scaleUp=_closed((), stabilizationWindowSeconds=COUNT),
                ),
            ),
        ),
        triggers={"type": "array", "minItems": 1, "items": POSTGRESQL},
    ),
)  # fmt: skip
TRIGGER_AUTHENTICATION: Final = _closed(
    ("apiVersion", "kind", "metadata", "spec"),
    **KIND,
    kind={"const": "TriggerAuthentication"},
    spec=_closed(
        ("secretTargetRef",),
        secretTargetRef={
            "type": "array",
            "items": _closed(
                ("parameter", "name", "key"),
                parameter={"enum": ["connection", "password"]},
                name=TEXT,
                key=TEXT,
            ),
        },
    ),
)
KEDA_KINDS: Final = {"ScaledObject": SCALED_OBJECT, "TriggerAuthentication": TRIGGER_AUTHENTICATION}
