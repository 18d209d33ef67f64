"""Uses the client that openapi-python-client has made of docs/openapi/public.json, as an app in Python would:
registers, signs in, refreshes, asks who it is, registers a device, and is refused with a bad bearer.
"""

import os
import uuid

from gatehouse_client import AuthenticatedClient, Client
from gatehouse_client.api.account import get_user
from gatehouse_client.api.devices import list_devices, register_device
from gatehouse_client.api.sign_in import refresh, register, sign_in
from gatehouse_client.models import (
    AuthResponse,
    LoginRequest,
    ProblemDocument,
    RefreshRequest,
    RegisterRequest,
    Registration,
    RegistrationEnvironment,
    User,
)

gateway = os.environ["GATEWAY_URL"]
identifier, password = f"{uuid.uuid4()}@example.com", "a long enough sentence"
anybody = Client(base_url=gateway)

registered = register.sync(client=anybody, body=RegisterRequest(identifier, password, display_name="Grace"))
assert isinstance(registered, AuthResponse), registered
signed_in = sign_in.sync(client=anybody, body=LoginRequest(identifier, password))
assert isinstance(signed_in, AuthResponse), signed_in
wrong = sign_in.sync(client=anybody, body=LoginRequest(identifier, "another sentence"))
assert isinstance(wrong, ProblemDocument) and wrong.code == "INVALID_CREDENTIALS", wrong
again = refresh.sync(client=anybody, body=RefreshRequest(signed_in.refresh_token))
assert isinstance(again, AuthResponse) and again.refresh_token != signed_in.refresh_token, again

client = AuthenticatedClient(base_url=gateway, token=again.access_token)
user = get_user.sync(client=client)
assert isinstance(user, User), user
assert (user.email, user.display_name, user.id) == (identifier, "Grace", registered.user.id), user
assert user.created_at == registered.user.created_at, user
registration = Registration("00fc13ad", RegistrationEnvironment.SANDBOX, "com.example.app")
device = register_device.sync(client=client, body=registration)
assert [entry.id for entry in list_devices.sync(client=client).devices] == [device.id], device

refused = get_user.sync_detailed(client=AuthenticatedClient(base_url=gateway, token="x"))
assert refused.status_code == 401 and refused.parsed.code == "INVALID_TOKEN", refused
print("    registered, signed in, refreshed, read /me, registered a device and was refused")
