"""Holds manifests to the schemas of several versions of Kubernetes. kubernetes-validate's own command lets through what
it has no schema for, and so a version of an API that is gone.
"""

import json
from functools import cache

from kubernetes_validate import SchemaNotFoundError, ValidationError, utils, validate

# No part of Kubernetes itself: there is no schema here.
FOREIGN = {"gateway.networking.k8s.io/v1", "monitoring.coreos.com/v1"}

# It would read the definitions anew for each object.
utils.schema_contents = cache(utils.schema_contents)


@cache
def flaw(text, version):
    """What is wrong with an object, as JSON, in a version; None where nothing is."""
    try:
        judged = validate(json.loads(text), version, strict=True)
        return None if judged == version else f"kubernetes-validate has {judged}, and no {version}"
    except ValidationError as error:
        return f"{'.'.join(str(part) for part in error.path)}: {error.message}"
    except SchemaNotFoundError as error:
        return f"there is no {error.kind} of {error.api_version}"


def flaws(objects, versions):
    for each in objects:
        if each["apiVersion"] in FOREIGN:
            continue
        text = json.dumps(each, default=str, sort_keys=True)
        for version in versions:
            if found := flaw(text, version):
                yield f"{each['kind']} {each['metadata']['name']}, Kubernetes {version}: {found}"
