// lifecycle.js URL   an account from its registration to its deletion, through the client that openapi-generator makes
// of docs/openapi/app.json. The test copies this file into that client.

import {
    AccountApi, AuthResponse, Configuration, ProblemDocument, ProblemDocumentFromJSON, ResponseError, SessionsApi,
    SignInApi,
} from "./index";

declare const process: { argv: string[]; exitCode?: number };

const password = "correct horse battery staple";
let session: AuthResponse;
const configuration = new Configuration({
    basePath: process.argv[2],
    // The client calls the function at each request, so that a new access token is used at once.
    accessToken: () => session.accessToken,
});
const signIn = new SignInApi(configuration);
const sessions = new SessionsApi(configuration);
const account = new AccountApi(configuration);

async function problem(call: Promise<unknown>): Promise<ProblemDocument> {
    try {
        await call;
    } catch (refusal) {
        if (refusal instanceof ResponseError) return ProblemDocumentFromJSON(await refusal.response.json());
        throw refusal;
    }
    throw new Error("the request should have been refused");
}

function expect(condition: boolean, seen: unknown) {
    if (!condition) throw new Error(JSON.stringify(seen));
}

async function refresh() {
    const old = session;
    session = await signIn.refresh({ refreshRequest: { refreshToken: old.refreshToken } });
    expect(session.refreshToken !== old.refreshToken, "the refresh token is the same");
    expect(session.user.id === old.user.id, session.user);
}

async function run() {
    const identifier = `typescript-${Date.now()}@example.com`;
    await signIn.register({ registerRequest: { identifier, password, displayName: "Ada" } });
    const loginRequest = { identifier, password, device: { name: "TypeScript" } };
    session = await signIn.signIn({ loginRequest });
    expect(session.user.email === identifier, session.user);
    await refresh();

    const listed = (await sessions.listSessions()).sessions;
    const current = listed.filter(one => one.current);
    expect(listed.length === 2 && current.length === 1, listed);
    expect(current[0].device?.name === "TypeScript", current);
    expect(current[0].expiresAt > new Date(), current);

    const invalid = await problem(signIn.register({ registerRequest: { identifier: "invalid", password: "x" } }));
    expect(invalid.code === "INVALID_REQUEST" && invalid.status === 400, invalid);
    expect(invalid.errors?.[0].field === "identifier", invalid);

    await account.reauthenticate({ reauthenticateRequest: { password } });
    await refresh();
    await account.deleteAccount();
    const ended = await problem(refresh());
    expect(ended.code === "INVALID_REFRESH_TOKEN" && ended.status === 401, ended);
    const unknown = await problem(signIn.signIn({ loginRequest }));
    expect(unknown.code === "INVALID_CREDENTIALS", unknown);
    console.log("TypeScript: registered, signed in, refreshed, listed sessions, read problems, deleted the account");
}

run().catch(error => {
    console.error(error);
    process.exitCode = 1;
});
