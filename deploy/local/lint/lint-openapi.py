"""lint-openapi.py ROOT   holds the descriptions in docs/openapi to the source: routes, admin ports, callers, bearers, error
codes and their statuses, the fields of every type in Shared/Contracts and of the operator's page, bounds. They are valid
OpenAPI 3.1, and their examples fit the schemas beside them. What the source says in a form that is not read here is a
finding, too.
"""

import json
import re
import sys
from pathlib import Path

from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

root = Path(sys.argv[1]).resolve()
folder = root / "docs" / "openapi"
contracts = root / "Shared" / "Contracts"
SERVICES = ("identity", "tokens", "devices")
METHODS = ("get", "put", "post", "delete", "head", "patch")
problems = []


def problem(place, text):
    problems.append(f"{place.relative_to(root) if isinstance(place, Path) else place}: {text}")


def read(path):
    return (root / path).read_text()


def found(path, pattern):
    """The first group of the pattern in a source file."""
    match = re.search(pattern, read(path))
    if not match:
        problem(path, f"cannot be read here: nothing matches {pattern}")
    return match[1] if match else None


documents = {
    name: json.loads((folder / f"{name}.json").read_text()) for name in ("common", "gateway", *SERVICES, "public")
}


def resolve(document, value):
    while "$ref" in value:
        file, _, pointer = value["$ref"].partition("#/")
        document = documents[file.removesuffix(".json")] if file else document
        value = document
        for part in pointer.split("/"):
            value = value[part.replace("~1", "/").replace("~0", "~")]
    return value


def operations(document):
    for path, item in document["paths"].items():
        for side in (item, item.get("x-admin", {})):
            for method in METHODS:
                if method in side:
                    yield path, method, side[method]


def of_admin_port(document):
    """The description of the gateway's admin port alone."""
    paths = {path: item.get("x-admin", item if "servers" in item else None) for path, item in document["paths"].items()}
    return {**document, "paths": {path: item for path, item in paths.items() if item}}


# --- routes

# Who administers users, beside operators: AdminRouter.
ADMINISTRATORS = ["admin"]
# A router, or a group of it by its name: who may call.
CALL = re.compile(
    r"(?:let (?P<group>\w+) = )?\b(?P<receiver>router|\w+)(?P<internal>\.internal\(callers: (?P<callers>[^)]*)\))?"
    r"(?P<calls>(?:\s*\.(?:get|put|post|delete|patch|head|getOrHead|on)\((?:\"[^\"\n]*\"|[^\s,)]*)[^\n]*)*)"
)
REGISTRATION = re.compile(r"\.(get|put|post|delete|patch|head|getOrHead|on)\(\s*(?:\"((?:[^\"\\\n]|\\\([^)]*\))*)\"|(\S+))")


def source_routes(service):
    """(path, method) → callers; `None` where anybody may call."""
    routes = {}
    public_administration = None
    if service == "identity":
        place = "Services/identity/Sources/Administration/AdminRoutes.swift"
        public_administration = found(place, r'router\.group\("(/v1/\w+)"\)')
        if not found(place, r'(internal\(callers: "admin"\)[^=]*\.group\("/admin"\))'):
            return routes
    for file in sorted((root / "Services" / service / "Sources").rglob("*.swift")):
        text = file.read_text()
        if "ServiceRouter" not in text and "AdminRouter" not in text:
            continue
        groups = {"router": None}
        # Registers each route twice.
        doors = re.search(r"\b(\w+): AdminRouter\b", text)
        if doors:
            groups[doors[1]] = ADMINISTRATORS
        for match in CALL.finditer(text):
            callers = groups.get(match["receiver"], ())
            if match["internal"]:
                callers = re.findall(r'"(\w+)"', match["callers"])
                if match["group"]:
                    groups[match["group"]] = callers
            if callers == ():
                continue
            for method, path, other in REGISTRATION.findall(match["calls"]):
                if other or method == "on":
                    problem(file, f"a route that cannot be read here: .{method}({other or path}")
                    continue
                # `/v1/auth/identities/\(provider.rawValue)`: one for each value.
                path = re.sub(r"\\\((\w+)\.rawValue\)", r"{\1}", path)
                if callers is ADMINISTRATORS:
                    routes[public_administration + path, method] = None
                    path = "/admin" + path
                internal = callers is not None and not path.startswith("/internal")
                for name in ("get", "head") if method == "getOrHead" else (method,):
                    routes[("/internal" if internal else "") + path, name] = callers
    return routes


def admin_routes(service):
    """Path → media type, of those that are the service's own; `None` where every service has it."""
    common = re.findall(r'router\.getOrHead\("([^"]+)"', read("Shared/ServiceKit/Routing/AdminRoutes.swift"))
    routes = {path: None for path in common}
    for file in sorted((root / "Services" / service / "Sources").rglob("*.swift")):
        text = file.read_text()
        own = re.findall(r'\bAdminRoute\(\s*"([^"]+)",\s*contentType: "([^";]+)', text)
        if len(own) != len(re.findall(r"\bAdminRoute\(", text)):
            problem(file, "a route of the admin port that cannot be read here")
        routes |= dict(own)
    return routes


def check_routes():
    for service in ("gateway", *SERVICES):
        document = of_admin_port(documents["gateway"]) if service == "gateway" else documents[service]
        admin = admin_routes(service)
        # The gateway's other routes are public: check_public_routes.
        source = {} if service == "gateway" else source_routes(service)
        source |= {(path, method): None for path in admin for method in ("get", "head")}
        described = {(path, method): operation for path, method, operation in operations(document)}
        for path, method in source.keys() - described.keys():
            problem(f"docs/openapi/{service}.json", f"lacks {method.upper()} {path}, which the source has")
        for path, method in described.keys() - source.keys():
            problem(f"docs/openapi/{service}.json", f"has {method.upper()} {path}, which no source has")
        for key in source.keys() & described.keys():
            place, operation = f"docs/openapi/{service}.json: {key[1].upper()} {key[0]}", described[key]
            if operation.get("x-callers") != source[key]:
                problem(place, f"x-callers is {operation.get('x-callers')}, the source says {source[key]}")
            if (source[key] is not None) != (operation["security"] == [{"credential": []}]):
                problem(place, "security does not say whether a credential is needed")
            media = admin.get(key[0])
            if media and key[1] == "get" and media not in operation["responses"]["200"]["content"]:
                problem(place, f"the source says {media}")
            named = set(re.findall(r"\{(\w+)\}", key[0]))
            if named != {p["name"] for p in operation["parameters"] if p.get("in") == "path"}:
                problem(place, "the path's parameters are not those that are described")


def check_public_routes():
    security = {
        "none": [],
        "optional": [{}, {"bearer": []}],
        "reported": [{}, {"bearer": []}],
        "required": [{"bearer": []}],
    }
    text = read("Shared/Contracts/Gateway/PublicRoute.swift")
    public = {(path, method): operation for path, method, operation in operations(documents["public"])}
    for call in re.findall(r"PublicRoute\((\"[^\n]*)\)", text):
        match = re.fullmatch(r'"(\w+)", "([^"]+)", \.(\w+), \.(\w+)(?:, guards: [^)]*?)?(?:, errors: \.(\w+))?', call)
        if not match:
            problem("Shared/Contracts/Gateway/PublicRoute.swift", f"a route that cannot be read here: {call}")
            continue
        method, path, owner, bearer, form = match.groups()
        place = f"docs/openapi/public.json: {method} {path}"
        operation = public.pop((path, method.lower()), None)
        if operation is None:
            problem(place, "is missing")
            continue
        if operation["security"] != security[bearer]:
            problem(place, f"security is {operation['security']}, and the bearer is {bearer}")
        if path not in documents[owner]["paths"]:
            problem(f"docs/openapi/{owner}.json", f"lacks {path}, which it serves by PublicRoute.swift")
        # What the gateway says in the service's place.
        answer = resolve(documents["public"], operation["responses"]["503"])
        if ("application/json" in answer["content"]) != (form == "oauth"):
            problem(place, f"is refused in the form {form or 'problem'}")
    built_in = read("Services/gateway/Sources/Routing/RouteTableRules.swift")
    own_paths = re.findall(r'\("(/\w+)", \.(?:liveness|readiness)\)', built_in)
    own_paths += re.findall(r'case \w+ = "(/[^"]+)"', built_in)
    console = found("Shared/Contracts/Gateway/PublicRoute.swift", r'consolePath = "([^"]+)"')
    own_paths += [console + rest for rest in re.findall(r'consolePath \+ "([^"]+)"', built_in)]
    methods = re.findall(r"\.(\w+)", re.search(r"methods: (\[.*\]), auth", built_in)[1])
    own = {(path, method): None for path in own_paths for method in methods}
    for path, method in public.keys() ^ own.keys():
        problem("docs/openapi/public.json", f"{method.upper()} {path}: in the file or in the source, not in both")
    for base in ("basePath", "alternativeBasePath"):
        value = found("Shared/Contracts/Gateway/PublicRoute.swift", rf'{base} = "([^"]+)"')
        if f"`{value}`" not in documents["public"]["info"]["description"]:
            problem("docs/openapi/public.json", f"its description does not name {value}")


# --- error codes


def check_codes():
    place = "docs/openapi/common.json"
    text = read("Shared/Contracts/ErrorCode.swift")
    codes = dict(re.findall(r'case `?(\w+)`? = "(\w+)"', text))
    tables = {}
    for name in ("status", "title", "defaultDetail"):
        body = text.partition(f"public var {name}: ")[2].partition("\n    }\n")[0]
        rows = re.findall(r"case ((?:\.\w+,? ?)+): (?:\"([^\"]+)\"|(\d+))", body)
        tables[name] = {
            case: words or digits for cases, words, digits in rows for case in re.findall(r"\.(\w+)", cases)
        }
        if tables[name].keys() != codes.keys():
            problem("Shared/Contracts/ErrorCode.swift", f"{name} cannot be read here")
            return
    schemas, responses = (documents["common"]["components"][kind] for kind in ("schemas", "responses"))
    listed = schemas["ProblemDocument"]["properties"]["code"]["x-extensible-enum"]
    if listed != list(codes.values()):
        problem(place, f"the codes are not those of ErrorCode.swift: {set(listed) ^ set(codes.values())}")
    for case, code in codes.items():
        response = responses.get(case[0].upper() + case[1:])
        example = response and response["content"]["application/problem+json"]["example"]
        if not response or response["x-codes"] != [code] or example["code"] != code:
            problem(place, f"has no response for {code}")
        elif (example["status"], example["title"]) != (int(tables["status"][case]), tables["title"][case]):
            problem(place, f"the example of {code} has not the source's status and title")
        elif "errors" not in example and example["detail"] != tables["defaultDetail"][case]:
            problem(place, f"the example of {code} has not the source's detail")
    status = {code: tables["status"][case] for case, code in codes.items()}
    for name, document in documents.items():
        for path, method, operation in operations(document) if "paths" in document else ():
            for number, answer in operation["responses"].items():
                answer = resolve(document, answer)
                for code in answer.get("x-codes", []):
                    if status.get(code, number) != number or code.isupper() and code not in status:
                        problem(f"docs/openapi/{name}.json", f"{method.upper()} {path} answers {code} with {number}")
                refuses = any(
                    content["schema"].get("$ref", "").endswith(("/ProblemDocument", "/OAuthError"))
                    for content in answer.get("content", {}).values()
                )
                if refuses != bool(answer.get("x-codes")) and "content" in answer:
                    problem(f"docs/openapi/{name}.json", f"{method.upper()} {path}: {number} does not say its codes")
    oauth = set()
    for file in [*contracts.rglob("OAuthError.swift"), *(root / "Services/tokens/Sources/OAuth").rglob("*.swift")]:
        text = file.read_text()
        calls = len(re.findall(r"(?:OAuthError|self\.init)\(\s*code:", text))
        oauth |= set(read_codes := re.findall(r'(?:OAuthError|self\.init)\(\s*code: "(\w+)"', text))
        if calls != len(read_codes):
            problem(file, "a code of OAuth that cannot be read here")
    listed = schemas["OAuthError"]["properties"]["error"]["x-extensible-enum"]
    if set(listed) != oauth:
        problem(place, f"the codes of OAuth are not those of the source: {set(listed) ^ oauth}")


# --- types


class Type:
    def __init__(self, name, file, conformances):
        self.name, self.file, self.conformances = name, file, conformances
        self.properties, self.known = {}, []


def contract_types():
    """Codable structs and open values by their name; that of a nested one follows its owner's."""
    types = {}
    for file in sorted(contracts.rglob("*.swift")):
        stack, depth, words, in_known = [], 0, {}, False
        for number, line in enumerate(file.read_text().splitlines(), 1):
            code = re.sub(
                r'"(?:[^"\\]|\\.)*"', lambda text: text[0].replace("{", "").replace("}", ""), line.partition("//")[0]
            )
            match = re.match(r"\s*public (?:struct|enum|protocol) (\w+)(?:: ([^{]*))?", code)
            if match and "{" in code:
                stack.append(
                    (Type("".join([owner.name for owner, _ in stack[-1:]]) + match[1], file, match[2] or ""), depth + 1)
                )
                words = {}
            elif stack and depth == stack[-1][1]:
                type = stack[-1][0]
                stored = re.fullmatch(r"\s*(?:@LowercaseUUID )?public (?:var|let) (\w+): ([^{=]+)", code.rstrip())
                constant = re.match(r'\s*public static let (\w+) = Self\(rawValue: "([^"]+)"\)', line)
                if constant:
                    words[constant[1]] = constant[2]
                elif "static let known" in code or in_known:
                    in_known = "]" not in code.partition("=")[2] if "=" in code else "]" not in code
                    type.known += [words[name] for name in re.findall(r"\.(\w+)", code.partition("=")[2] or code)]
                elif stored:
                    type.properties[stored[1]] = stored[2].strip()
                elif re.search(r"\b(var|let)\b", code) and not re.search(r"\{|static", code) or "CodingKeys" in code:
                    if "Codable" in type.conformances or "OpenValue" in type.conformances:
                        problem(file, f"line {number} cannot be read here: {line.strip()}")
            depth += code.count("{") - code.count("}")
            while stack and depth < stack[-1][1]:
                type = stack.pop()[0]
                # LowercaseUUID is how a property is written, no type of the contract.
                if re.search(r"\b(Codable|OpenValue)\b", type.conformances) and type.properties.keys() != {
                    "wrappedValue"
                }:
                    types[type.name] = type
    return {name: type for name, type in types.items() if name not in ("OpenValue", "ErrorCode")}


def schema_name(declared, owner, types):
    """The Swift type without `?`, a nested one by the name of its schema."""
    name = declared.removesuffix("?").strip("[]").replace(".", "")
    name = owner + name if owner + name in types else name
    return f"[{name}]" if declared.startswith("[") else name


def schema_types(document, schema, types):
    """What a field's schema may stand for in Swift, without the `?`."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    if reference in ("Identifier", "Time"):
        return {"UUID"} if reference == "Identifier" else {"Date"}
    if reference:
        return {reference}
    alternatives = [item for item in schema.get("anyOf", []) if item != {"type": "null"}]
    if alternatives:
        return schema_types(document, alternatives[0], types)
    kind = schema["type"]
    kind = next(word for word in kind if word != "null") if isinstance(kind, list) else kind
    if kind == "array":
        return {f"[{item}]" for item in schema_types(document, schema["items"], types)}
    if kind == "string":
        values = [value for value in schema.get("enum", schema.get("x-extensible-enum", [])) if value is not None]
        if values and schema.get("enum"):
            return {name for name, type in types.items() if type.known == values}
        return {"UUID"} if schema.get("format") == "uuid" else {"String"}
    if kind == "integer":
        return {"Int64"} if schema.get("format") == "int64" else {"Int"}
    return {"number": {"Double"}, "boolean": {"Bool"}}.get(kind, {kind})


def nullable(schema):
    return "null" in schema.get("type", ()) or {"type": "null"} in schema.get("anyOf", [])


def reached(document, value, seen):
    """Names of the schemas that a value refers to, and those within them."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref" and (name := item.rpartition("/")[2]) not in seen:
                seen.add(name)
                reached(document if item.startswith("#") else documents["common"], resolve(document, value), seen)
            elif key != "$ref":
                reached(document, item, seen)
    elif isinstance(value, list):
        for item in value:
            reached(document, item, seen)
    return seen


def check_types():
    types = contract_types()
    schemas, asked = {}, set()
    for name in ("common", *SERVICES):
        document = documents[name]
        for schema in document["components"].get("schemas", {}):
            schemas[schema] = (name, document["components"]["schemas"][schema])
        for _, _, operation in operations(document) if "paths" in document else ():
            reached(document, operation.get("requestBody", {}), asked)
    for type in types.values():
        name, schema = schemas.get(type.name, (None, None))
        if schema is None:
            problem(type.file, f"{type.name} has no schema in docs/openapi")
            continue
        place = f"docs/openapi/{name}.json: {type.name}"
        if "OpenValue" in type.conformances:
            if schema.get("x-extensible-enum") != type.known:
                problem(place, f"the source knows {type.known}")
            continue
        fields, required = schema["properties"], set(schema.get("required", []))
        for field in type.properties.keys() ^ fields.keys():
            problem(place, f"{field} is a field in the source or in the schema, not in both")
        for field in type.properties.keys() & fields.keys():
            declared = type.properties[field]
            optional = declared.endswith("?")
            if optional == (field in required):
                problem(place, f"{field} is {'optional' if optional else 'required'} in the source")
            if schema_name(declared, type.name, types) not in schema_types(documents[name], fields[field], types):
                problem(place, f"{field} is {declared} in the source")
            # A user is in one request alone, that of identity, which leaves out what is not there.
            if nullable(fields[field]) != (optional and type.name in asked and type.name != "User"):
                problem(
                    place, f"{field}: `null` is as if absent in optional fields of requests, and stands in no answer"
                )
    made = {"OAuthError", "Identifier", "Time", "Health", "Introspection"}
    made |= {name for name in schemas if name.startswith(("OAuth", "JSONWebKey", "AuthorizationServer"))}
    for name in schemas.keys() - types.keys() - made:
        problem(f"docs/openapi/{schemas[name][0]}.json", f"{name} is no type of Shared/Contracts")
    return types


# Answers of the gateway without a type of Contracts: file, type, the schema's name.
OPERATOR = "Services/gateway/Sources/Operator"
OPERATOR_TYPES = [
    ("OperatorPage", "OperatorStatus", "OperatorStatus"),
    ("OperatorPage", "Key", "OperatorStatusKey"),
    ("OperatorPage", "Feed", "OperatorStatusFeed"),
    ("ReplicaWatch", "ReplicaStatus", "ReplicaStatus"),
]


def stored_properties(text, name):
    """Of a struct: name → type, `?` included."""
    struct = re.search(rf"(?m)^( *)struct {name}\b.*\{{$", text)
    body = text[struct.end() :].partition(f"\n{struct[1]}}}\n")[0]
    pattern = rf"(?m)^{struct[1]}    var (\w+)(?:: ([\w\[\]]+\??)(?: = .*)?| = (\w+)\.\w+)$"
    properties = {name: declared or inferred for name, declared, inferred in re.findall(pattern, body)}
    if len(properties) != len(re.findall(rf"(?m)^{struct[1]}    var [^{{\n]*$", body)):
        problem(OPERATOR, f"a property of {name} that cannot be read here")
    return properties


def check_operator():
    schemas = documents["gateway"]["components"]["schemas"]
    schema_of = {name: schema for _, name, schema in OPERATOR_TYPES}
    for name in schemas.keys() - schema_of.values():
        problem("docs/openapi/gateway.json", f"{name} is no type of {OPERATOR}")
    for file, name, schema in OPERATOR_TYPES:
        text = read(f"{OPERATOR}/{file}.swift")
        place = f"docs/openapi/gateway.json: {schema}"
        source, fields = stored_properties(text, name), schemas[schema]["properties"]
        for field in source.keys() ^ fields.keys():
            problem(place, f"{field} is a field in the source or in the schema, not in both")
        for field in source.keys() & fields.keys():
            declared = source[field].removesuffix("?")
            optional = source[field].endswith("?")
            if optional == (field in schemas[schema]["required"]):
                problem(place, f"{field} is {'optional' if optional else 'required'} in the source")
            if declared == "State":
                cases = re.findall(r"(?m)^ +case (\w+)$", text.partition("enum State")[2].partition("\n    }\n")[0])
                if fields[field].get("x-extensible-enum") != cases:
                    problem(place, f"{field} is one of {cases} in the source")
                continue
            element = declared.strip("[]")
            wanted = declared.replace(element, schema_of.get(element, element))
            if wanted not in schema_types(documents["gateway"], fields[field], {}):
                problem(place, f"{field} is {source[field]} in the source")


def check_coding_keys():
    """The answers that tokens writes without a type of Contracts."""
    for file, kind, schema in (
        ("Services/tokens/Sources/Introspection/Introspection.swift", "CodingKeys", "Introspection"),
        ("Services/tokens/Sources/OAuth/WellKnownRoutes.swift", "CodingKeys", "AuthorizationServerMetadata"),
    ):
        body = read(file).partition(f"enum {kind}")[2].partition("\n    }")[0]
        names = {match[1] or match[0] for match in re.findall(r'case (\w+)(?: = "(\w+)")?', body)}
        described = set(documents["tokens"]["components"]["schemas"][schema]["properties"])
        if names != described:
            problem(file, f"its members are not those of {schema}: {names ^ described}")
    text = read("Services/tokens/Sources/Sessions/TokenIssuer.swift").partition("var oauthJSON")[2]
    names = set(re.findall(r'"(\w+)":', text))
    described = set(documents["tokens"]["components"]["schemas"]["OAuthTokens"]["properties"])
    if names != described:
        problem("Services/tokens/Sources/Sessions/TokenIssuer.swift", f"not OAuthTokens: {names ^ described}")


# --- bounds

PASSWORDS = (
    "RegisterRequest.password LoginRequest.password ChangePasswordRequest.newPassword "
    "ChangePasswordRequest.currentPassword ResetPasswordRequest.newPassword AdminCreateUserRequest.password"
)
IDENTIFIERS = (
    "RegisterRequest.identifier LoginRequest.identifier ForgotPasswordRequest.identifier "
    "AdminCreateUserRequest.identifier AdminIdentifierRequest.identifier"
)
LABELS = "Registration.appVersion Registration.osVersion Registration.model"
DEVICE = " ".join(
    f"SessionDevice.{name}"
    for name in ("installationId", "name", "model", "osVersion", "appVersion", "deviceToken")
)
NONCES = "AppleSignInRequest.nonce LinkAppleRequest.nonce"
APPLE_TOKENS = "AppleSignInRequest.identityToken LinkAppleRequest.identityToken AppleNotificationRequest.payload"


def times(factor):
    return lambda number: factor * int(number)


# Where the source has a bound, and the fields that have it: the file, with `#` and the type where the file has several,
# what matches the number, the description, the fields, the keyword of their schemas, and what the keyword says of the
# number.
BOUNDS = [
    (
        "devices/Sources/Registration/RegistrationRules#BundleID",
        r"maximumLength = (\d+)",
        "devices",
        "Registration.bundleId",
        "maxLength",
        int,
    ),
    (
        "devices/Sources/Registration/RegistrationRules#InstallationID",
        r"maximumLength = (\d+)",
        "devices",
        "Registration.installationId",
        "maxLength",
        int,
    ),
    (
        "devices/Sources/Registration/RegistrationRules#PushToken",
        r"maximumDigits = (\d+)",
        "devices",
        "Registration.token",
        "maxLength",
        int,
    ),
    (
        "devices/Sources/Registration/RegistrationRules#TimeZoneDatabase",
        r"maximumLength = (\d+)",
        "devices",
        "Registration.timeZone",
        "maxLength",
        int,
    ),
    (
        "devices/Sources/Registration/RegistrationRules#Label",
        r"maximumLength = (\d+)",
        "devices",
        LABELS,
        "maxLength",
        int,
    ),
    # A character has up to four bytes, and a schema counts neither.
    (
        "identity/Sources/Sessions/SessionIssuer#SessionDevice",
        r"maximumLength = (\d+)",
        "common",
        DEVICE,
        "maxLength",
        times(4),
    ),
    # NFKC makes one of up to four.
    (
        "identity/Sources/Passwords/PasswordRules#Password",
        r"maximumLength = (\d+)",
        "identity",
        PASSWORDS,
        "maxLength",
        times(4),
    ),
    (
        "identity/Sources/Identifiers/IdentifierRules#Identifier",
        r"text\.utf8\.count <= (\d+)",
        "identity",
        IDENTIFIERS,
        "maxLength",
        int,
    ),
    (
        "identity/Sources/Apple/AppleSignIn",
        r"code\.utf8\.count > (\d+)",
        "identity",
        "AppleSignInRequest.authorizationCode",
        "maxLength",
        int,
    ),
    (
        "identity/Sources/Apple/AppleNonces#AppleNonceIssuer",
        r"maximumLength = (\d+)",
        "identity",
        NONCES,
        "maxLength",
        int,
    ),
    (
        "identity/Sources/Apple/AppleNonces#AppleNonceIssuer",
        r"lifetime: Int64 = (\d+)",
        "identity",
        "AppleNonceResponse.expiresIn",
        "const",
        int,
    ),
    (
        "identity/Sources/Apple/AppleTokenVerifier",
        r"maximumLength = (\d+)",
        "identity",
        APPLE_TOKENS,
        "maxLength",
        int,
    ),
    (
        "identity/Sources/Administration/AdminRoutes",
        r"maximumLimit = (\d+)",
        "identity",
        "AdminUserList.users AdminAuditList.entries",
        "maxItems",
        int,
    ),
    ("identity/Sources/Audit/AuditStore", r"limit: (\d+)", "identity", "AccountExport.events", "maxItems", int),
    (
        "identity/Sources/Identifiers/AddressRules#EmailAddress",
        r"maximumLength = (\d+)",
        "common",
        "User.email",
        "maxLength",
        int,
    ),
    (
        "identity/Sources/Accounts/AccountRules#DisplayName",
        r"maximumLength = (\d+)",
        "common",
        "User.displayName",
        "maxLength",
        times(16),
    ),
    (
        "identity/Sources/Accounts/AccountRules#StoreList",
        r"maximumCount = (\d+)",
        "common",
        "User.storeIds",
        "maxItems",
        int,
    ),
    (
        "identity/Sources/Accounts/AccountRules#Role",
        r"\(1\.\.\.(\d+)\)",
        "common",
        "User.role",
        "pattern",
        lambda n: "^[a-z][a-z0-9_-]{0,%d}$" % (int(n) - 1),
    ),
    (
        "identity/Sources/Identifiers/AddressRules#PhoneNumber",
        r"\(7\.\.\.(\d+)\)",
        "common",
        "User.phone",
        "pattern",
        lambda n: "^\\+[1-9][0-9]{6,%d}$" % (int(n) - 1),
    ),
    (
        "identity/Sources/Events/EventFeedStore",
        r"pageSize = (\d+)",
        "identity",
        "AccountEventPage.events",
        "maxItems",
        int,
    ),
    (
        "tokens/Sources/Revocation/RevocationFeedStore",
        r"pageSize: Int = (\d+)",
        "tokens",
        "RevocationPage.entries",
        "maxItems",
        int,
    ),
    (
        "tokens/Sources/OAuth/WellKnownRoutes",
        r"maximumAge = (\d+)",
        "common",
        "headers/FiveMinutes",
        "const",
        lambda n: f"public, max-age={n}",
    ),
    (
        "tokens/Sources/Refreshing/RefreshTokenRules#RefreshToken",
        r"textLength = (\d+)",
        "common",
        "AuthResponse.refreshToken",
        "pattern",
        lambda n: "^ghrt_[A-Za-z0-9_-]{%d}$" % (int(n) - 5),
    ),
]
# Figures that stand in words, in a response of common.json.
HEADS = "Services/gateway/Sources/Wire/MessageHead.swift"
BODIES = "Shared/ServiceKit/Requests/Request+decode.swift"
WORDS = [
    (BODIES, r"bytes = ([\d_]+)", "PayloadTooLarge", lambda n: f"{int(n.replace('_', '')):,} bytes"),
    (HEADS, r"bytes = (\d+) \* 1024", "HeadersTooLarge", lambda n: f"{n} KiB"),
    (HEADS, r"fields = (\d+)", "HeadersTooLarge", lambda n: f"{n} fields"),
    (HEADS, r"bearer = (\d+) \* 1024", "HeadersTooLarge", lambda n: f"bearer more than {n} KiB"),
    (HEADS, r"target = (\d+) \* 1024", "TargetTooLong", lambda n: f"{int(n) * 1024:,} bytes"),
]


def check_bounds():
    for place, pattern, name, targets, keyword, convert in BOUNDS:
        path, _, type_name = place.partition("#")
        file = f"Services/{path}.swift"
        number = found(file, rf"(?:struct|enum|extension) {type_name}\b[\s\S]*?{pattern}" if type_name else pattern)
        components = documents[name]["components"]
        for target in targets.split() if number else ():
            schema, _, field = target.partition(".")
            if field:
                schema = components["schemas"][schema]["properties"][field]
            else:
                schema = components["headers"][schema.removeprefix("headers/")]["schema"]
            if schema.get(keyword) != convert(number):
                text = f"{keyword} of {target} is {schema.get(keyword)}, {file} says {number}"
                problem(f"docs/openapi/{name}.json", text)
    for file, pattern, response, words in WORDS:
        number = found(file, pattern)
        text = documents["common"]["components"]["responses"][response]["description"]
        if number and words(number) not in text:
            problem("docs/openapi/common.json", f"{response} does not say {words(number)!r}, as {file} does")


# --- OpenAPI itself


def check_names():
    header = found("Shared/Contracts/HeaderName.swift", r'credential = "([^"]+)"')
    if documents["common"]["components"]["securitySchemes"]["credential"]["name"] != header:
        problem("docs/openapi/common.json", f"the credential's field is {header}")
    header = found("Shared/Contracts/HeaderName.swift", r'requestID = "([^"]+)"')
    for name, document in documents.items():
        for path, method, operation in operations(document) if "paths" in document else ():
            for number, answer in operation["responses"].items():
                if header not in resolve(document, answer).get("headers", {}):
                    problem(f"docs/openapi/{name}.json", f"{method.upper()} {path}: {number} lacks {header}")
    if len({document["info"]["version"] for document in documents.values()}) > 1:
        problem("docs/openapi", "the files are of different versions")


def examples(value):
    if isinstance(value, dict):
        if "schema" in value and "example" in value:
            yield value["schema"], value["example"]
        for item in value.values():
            yield from examples(item)
    elif isinstance(value, list):
        for item in value:
            yield from examples(item)


def whole(document, value):
    """The value with what it refers to in its place."""
    if isinstance(value, dict):
        if "$ref" in value:
            owner = documents["common"] if value["$ref"].startswith("common.json") else document
            return whole(owner, resolve(document, value))
        return {key: whole(document, item) for key, item in value.items()}
    return [whole(document, item) for item in value] if isinstance(value, list) else value


def check_validity():
    for name, document in documents.items():
        try:
            validate(document, base_uri=(folder / f"{name}.json").as_uri())
            if name == "gateway":
                validate(of_admin_port(document), base_uri=(folder / f"{name}.json").as_uri())
        except Exception as error:
            problem(f"docs/openapi/{name}.json", f"is not valid OpenAPI: {str(error).splitlines()[0]}")
            continue
        for schema, example in examples(document):
            for error in Draft202012Validator(whole(document, schema)).iter_errors(example):
                at = "/".join(str(part) for part in error.absolute_path)
                problem(f"docs/openapi/{name}.json", f"an example does not fit its schema: {at}: {error.message[:200]}")


def report():
    for text in dict.fromkeys(problems):
        print(text, file=sys.stderr)
    if problems:
        sys.exit(1)


# What is no OpenAPI cannot be held to the source.
check_validity()
report()
check_routes()
check_public_routes()
check_codes()
types = check_types()
check_operator()
check_coding_keys()
check_bounds()
check_names()
report()
count = sum(1 for _ in operations(documents["public"]))
print(f"    {count} public routes, {len(types)} types, {len(BOUNDS) + len(WORDS)} bounds")
