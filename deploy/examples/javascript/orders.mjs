#!/usr/bin/env node
// orders.mjs [PORT]    The example service without a library. ORDERS_GATEWAY_CREDENTIALS: one, or two with a comma.
import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, STATUS_CODES } from "node:http";
import { setTimeout } from "node:timers/promises";

const digest = (text) => createHash("sha256").update(text).digest(); // Of equal length, as timingSafeEqual wants them.
const credentials = process.env.ORDERS_GATEWAY_CREDENTIALS.split(",").map(digest);
const known = new Set(["7"]); // In place of a database, which is asked with the signal: an abort ends its query.
const lookUp = async (id, signal) => signal.aborted ? false : known.has(id);

function problem(response, id, status, code, detail, fields = {}) { // RFC 9457
    const document = { type: "about:blank", title: STATUS_CODES[status], status, detail, code, requestId: id };
    response.writeHead(status, { "Content-Type": "application/problem+json", ...fields }).end(JSON.stringify(document));
}

const server = createServer(async (request, response) => {
    const field = (name) => request.headers["gatehouse-" + name] ?? "";
    const refuse = (...reason) => problem(response, field("request-id"), ...reason);
    const presented = digest(field("credential"));
    if (!credentials.map((each) => timingSafeEqual(each, presented)).includes(true) || !field("user-id"))
        return refuse(401, "INVALID_TOKEN", "Please sign in.", { "WWW-Authenticate": "Bearer" });
    const milliseconds = Number(field("deadline-ms") || 10_000);
    if (milliseconds <= 0) // The caller no longer waits: do nothing.
        return refuse(503, "UNAVAILABLE", "Please try again in a moment.", { "Retry-After": "1" });
    const id = request.url.split("?")[0].replace(/^\/v1\/orders\//, "");
    const work = new AbortController();
    const late = setTimeout(milliseconds, "late", { signal: work.signal }).catch(() => "late");
    const asked = lookUp(id, work.signal).catch((error) => { console.error(error); return "failed"; });
    const found = await Promise.race([asked, late]);
    work.abort();
    if (found === "failed") return refuse(500, "INTERNAL", "Something went wrong. Please try again.");
    if (found === "late") return refuse(504, "TIMEOUT", "This took too long.");
    if (!found) return refuse(404, "NOT_FOUND", "There is nothing here.");
    const stores = field("store-ids").split(",").filter(Boolean).map(decodeURIComponent);
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ id: Number(id), of: field("user-id"), role: field("role"), stores }));
});
server.keepAliveTimeout = 75_000; // Longer than the gateway keeps connections: no request meets one that closes.
server.listen(Number(process.argv[2] ?? 9000), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.on("SIGTERM", () => server.close());
