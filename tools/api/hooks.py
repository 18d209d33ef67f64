"""What schemathesis is told of Gatehouse as apps see it: how a user comes to a bearer."""

import schemathesis
from described import described
from users import Users


@schemathesis.auth(refresh_interval=None)
class Bearer:
    users = Users()

    def get(self, case, context):
        return self.users.token_for(described(context.operation))

    def set(self, case, data, context):
        case.headers["Authorization"] = f"Bearer {data}"
