"""service_description.py NAME   a service's description at its own port: the gateway's fields instead of a bearer."""

import copy
import json
import sys

from descriptions import operations, read

document = read(sys.argv[1])
document["components"]["securitySchemes"]["user"] = {"type": "apiKey", "in": "header", "name": "Gatehouse-User-Id"}
# `null` in an optional field of a request is as if absent. User, which is an answer everywhere else, does not say so.
schemas = document["components"]["schemas"]
schemas["UserInRequests"] = user = copy.deepcopy(schemas["User"])
for name in user["properties"].keys() - set(user["required"]):
    user["properties"][name] = {"anyOf": [user["properties"][name], {"type": "null"}]}
schemas["UserSnapshot"]["properties"]["user"] = {"$ref": "#/components/schemas/UserInRequests"}
for _, _, operation in operations(document):
    forwarded = {"credential": [], "user": []}
    operation["security"] = [forwarded if "bearer" in need else need for need in operation["security"]]
json.dump(document, sys.stdout)
