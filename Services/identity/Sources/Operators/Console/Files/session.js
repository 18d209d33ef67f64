// The operator's session. Tokens are kept only in this page's memory, so that neither the disk nor another tab has
// them. After a reload the operator signs in again, and the previous session is ended.

import { Problem, request } from "./api.js";

const device = { name: "Console" };
// An access token is renewed when a minute is left, or a fifth of its lifetime if that is less.
const margin = 60000;

let tokens = null;
let renewal = null;
let proof = null;
let ended = () => {};
let forbidden = () => {};
let askToReauthenticate = async () => false;

export const operator = () => tokens?.user ?? null;

// `whenEnded` is called when the session ends without a sign-out, `whenForbidden` when the signed-in user is not an
// operator. `reauthenticate` reauthenticates the operator; it returns false if the operator cancels.
export function listen({ whenEnded, whenForbidden, reauthenticate }) {
    ended = whenEnded;
    forbidden = whenForbidden;
    askToReauthenticate = reauthenticate;
}

function keep(answer) {
    const lifetime = answer.expiresIn * 1000;
    const renewAt = performance.now() + lifetime - Math.min(margin, lifetime / 5);
    tokens = { access: answer.accessToken, refresh: answer.refreshToken, user: answer.user, renewAt };
}

export async function signIn(identifier, password) {
    keep(await request("POST", "/auth/login", { body: { identifier, password, device } }));
}

// Returns the identifier of the request, which is sent together with the code.
export async function askForCode(identifier, purpose) {
    const answer = await request("POST", "/auth/code", { body: { identifier, purpose, device } });
    return answer.codeRequest;
}

export async function signInWithCode(identifier, codeRequest, code) {
    keep(await request("POST", "/auth/code/verify", { body: { identifier, codeRequest, code, device } }));
}

export async function signOut() {
    const refreshToken = forget();
    if (refreshToken) await request("POST", "/auth/logout", { body: { refreshToken } });
}

// Ends the session when the page is left, without waiting for the response.
export function abandon() {
    const refreshToken = forget();
    if (refreshToken) request("POST", "/auth/logout", { body: { refreshToken }, keepalive: true }).catch(() => {});
}

function forget() {
    const refreshToken = tokens?.refresh;
    tokens = null;
    return refreshToken;
}

// One renewal at a time. The response is dropped if the session has ended meanwhile.
function renew() {
    renewal ??= (async () => {
        const before = tokens;
        try {
            if (!before) throw signedOut();
            const answer = await request("POST", "/auth/refresh", { body: { refreshToken: before.refresh } });
            if (tokens === before) keep(answer);
        } catch (problem) {
            if (problem.code === "INVALID_REFRESH_TOKEN" && tokens === before) {
                forget();
                ended();
            }
            throw problem;
        } finally {
            renewal = null;
        }
    })();
    return renewal;
}

async function bearer() {
    if (tokens && performance.now() >= tokens.renewAt) await renew();
    if (!tokens) throw signedOut();
    return tokens.access;
}

const signedOut = () => new Problem({ code: "SIGNED_OUT", detail: "You are signed out." });

export async function reauthenticateByPassword(password) {
    await request("POST", "/auth/reauthenticate", { body: { password }, bearer: await bearer() });
    await renew();
}

// Reauthenticates with a code that was requested with the purpose stepUp.
export async function reauthenticateByCode(identifier, codeRequest, code) {
    const body = { identifier, codeRequest, code, device };
    await request("POST", "/auth/code/verify", { body, bearer: await bearer() });
    await renew();
}

// One reauthentication at a time, however many calls need it.
function reauthenticate() {
    proof ??= askToReauthenticate().finally(() => {
        proof = null;
    });
    return proof;
}

// Sends a request as the operator: with a valid access token, and after reauthentication if the API requires it.
export async function call(method, path, options = {}) {
    const mayTry = { renewal: true, proof: true };
    for (;;) {
        const access = await bearer();
        try {
            return await request(method, path, { ...options, bearer: access });
        } catch (problem) {
            const isStale = problem.code === "INVALID_TOKEN" || problem.code === "TOKEN_EXPIRED";
            if (isStale && mayTry.renewal) {
                mayTry.renewal = false;
                if (tokens?.access === access) await renew();
            } else if (problem.code === "REAUTHENTICATION_REQUIRED" && mayTry.proof) {
                mayTry.proof = false;
                if (!(await reauthenticate())) throw new Problem({ code: "CANCELLED", detail: "Nothing was changed." });
            } else {
                if (problem.code === "FORBIDDEN" && method === "GET") forbidden();
                throw problem;
            }
        }
    }
}
