// The operator's session. Tokens are kept in this page's memory alone, so that nothing on the disk and no other tab has
// them: a reload signs in again, and the session that is left is ended.

import { Problem, request } from "./api.js";

const device = { name: "Console" };
// An access token is renewed when it has a minute left, or a fifth of its time where that is less.
const margin = 60000;

let tokens = null;
let renewal = null;
let proof = null;
let ended = () => {};
let forbidden = () => {};
let askForProof = async () => false;

export const operator = () => tokens?.user ?? null;

// `whenEnded` is told that the session is over though nobody signed out, `whenForbidden` that whoever signed in is no
// operator. `prove` asks who it is; false where nobody says.
export function listen({ whenEnded, whenForbidden, prove }) {
    ended = whenEnded;
    forbidden = whenForbidden;
    askForProof = prove;
}

function keep(answer) {
    const lifetime = answer.expiresIn * 1000;
    const renewAt = performance.now() + lifetime - Math.min(margin, lifetime / 5);
    tokens = { access: answer.accessToken, refresh: answer.refreshToken, user: answer.user, renewAt };
}

export async function signIn(identifier, password) {
    keep(await request("POST", "/auth/login", { body: { identifier, password, device } }));
}

// What names the request beside the code.
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

// When the page goes: nobody waits for the answer.
export function abandon() {
    const refreshToken = forget();
    if (refreshToken) request("POST", "/auth/logout", { body: { refreshToken }, keepalive: true }).catch(() => {});
}

function forget() {
    const refreshToken = tokens?.refresh;
    tokens = null;
    return refreshToken;
}

// One renewal at a time. What comes back for a session that is over meanwhile is dropped.
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

export async function proveByPassword(password) {
    await request("POST", "/auth/reauthenticate", { body: { password }, bearer: await bearer() });
    await renew();
}

// For a code that was asked for with the purpose stepUp.
export async function proveByCode(identifier, codeRequest, code) {
    const body = { identifier, codeRequest, code, device };
    await request("POST", "/auth/code/verify", { body, bearer: await bearer() });
    await renew();
}

// One question at a time, however many calls need the proof.
function prove() {
    proof ??= askForProof().finally(() => {
        proof = null;
    });
    return proof;
}

// A request in the operator's name: with a fresh token, and with a new proof where the API asks for one.
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
                if (!(await prove())) throw new Problem({ code: "CANCELLED", detail: "Nothing was changed." });
            } else {
                if (problem.code === "FORBIDDEN" && method === "GET") forbidden();
                throw problem;
            }
        }
    }
}
