// Sends a request to the API of this gateway, and turns a refusal into a message for the operator.

import { wait } from "./words.js";

// Milliseconds after which a request is given up.
const timeout = 20000;

let base = null;

export class Problem extends Error {
    constructor({ code = "", status = 0, detail, errors = [], retryAfter = null }) {
        const fields = errors.map(({ field, message }) => `${field}: ${message}`);
        const later = retryAfter ? [`Try again in ${wait(retryAfter)}.`] : [];
        super([detail, ...fields, ...later].join(" "));
        Object.assign(this, { code, status, retryAfter });
    }
}

function unreachable() {
    return new Problem({
        code: "UNREACHABLE",
        detail: "Gatehouse cannot be reached. Check whether this machine is online, and try again.",
    });
}

// Throws `AbortError` if `signal` was aborted, and `unreachable` if no response arrived.
async function send(address, options, signal) {
    const end = AbortSignal.timeout(timeout);
    try {
        const answer = await fetch(address, {
            ...options,
            cache: "no-store",
            credentials: "omit",
            signal: signal ? AbortSignal.any([signal, end]) : end,
        });
        return [answer, await answer.text()];
    } catch (error) {
        if (signal?.aborted) throw new DOMException("given up", "AbortError");
        throw unreachable();
    }
}

function parsed(text) {
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
}

function refusal(answer, text) {
    const told = parsed(text);
    const retryAfter = Number.parseInt(answer.headers.get("Retry-After"), 10);
    return new Problem({
        code: told?.code,
        status: answer.status,
        detail: told?.detail ?? "Something went wrong. Try again later.",
        errors: told?.errors,
        retryAfter: retryAfter > 0 ? retryAfter : null,
    });
}

// The base path of the API, which is a setting of the gateway.
async function findBase() {
    const [answer, text] = await send("/console/settings.json", {});
    const path = parsed(text)?.basePath;
    if (!answer.ok || !path) throw refusal(answer, text);
    return path;
}

// Returns the body of the response; `null` if it is empty.
export async function request(method, path, { query = {}, body, bearer, signal, keepalive } = {}) {
    base ??= await findBase();
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
    const search = given.length ? `?${new URLSearchParams(given)}` : "";
    const headers = { Accept: "application/json" };
    if (bearer) headers.Authorization = `Bearer ${bearer}`;
    if (body) headers["Content-Type"] = "application/json";
    const options = { method, headers, keepalive, body: body && JSON.stringify(body) };
    const [answer, text] = await send(base + path + search, options, signal);
    if (!answer.ok) throw refusal(answer, text);
    return text ? parsed(text) : null;
}
