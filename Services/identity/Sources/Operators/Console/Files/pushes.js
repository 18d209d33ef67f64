// A test push to the operator's own devices, and the pushes that a user did not receive.

import { ask } from "./dialogs.js";
import { button, make, table } from "./elements.js";
import { announce } from "./notices.js";
import { poll } from "./polling.js";
import { call } from "./session.js";
import { count, pushReason, pushState, time } from "./words.js";

export const pushesSection = { title: "Pushes that were not delivered", draw };

async function draw(page) {
    const { entries } = await call("GET", `${page.path}/undelivered-pushes`, { signal: page.signal });
    if (!entries.length) return make("p", { class: "note" }, "No push to this user has failed in the last days.");
    return table(
        "Pushes that were not delivered",
        ["Time", "App", "Kind", "Sent by", "State", "Reason", "Attempts"],
        entries.map((entry) => [
            time(entry.at),
            entry.bundleId,
            entry.pushType,
            entry.caller,
            pushState(entry.state),
            pushReason(entry.reason),
            String(entry.attempts),
        ]),
    );
}

// Milliseconds between requests for the result.
const interval = 1000;
let following = new AbortController();

// The button and a place for the result. `devices` are the operator's own, of which one or more receives pushes.
export function testPush(page, devices) {
    following.abort();
    const apps = [...new Set(devices.filter(({ kind }) => kind === "alert").map(({ bundleId }) => bundleId))];
    if (!apps.length) return [];
    const result = make("div");
    const send = button("Send a test push…", async () => {
        const push = await ask(question(apps));
        if (push && !page.signal.aborted) follow(push.id, result, devices, page.signal);
    });
    return [make("p", { class: "buttons" }, send), result];
}

function question(apps) {
    const text = { autocomplete: "off", spellcheck: "false" };
    const app = { name: "bundleId", label: "App", options: apps.map((each) => [each, each]), value: apps[0] };
    return {
        title: "Send a test push",
        sentences: ["It is sent to all your own devices with the app, and expires after five minutes."],
        fields: [
            ...(apps.length > 1 ? [app] : []),
            { name: "title", label: "Title", value: "Test push", required: true, maxlength: 100, ...text },
            { name: "body", label: "Text", maxlength: 500, ...text },
        ],
        action: "Send",
        perform: ({ title, body, bundleId }) =>
            call("POST", "/admin/test-pushes", { body: { title, body: body || undefined, bundleId } }),
    };
}

// Shows what becomes of the push on each device. An earlier push is followed no more.
function follow(id, place, devices, left) {
    following.abort();
    following = new AbortController();
    const signal = AbortSignal.any([left, following.signal]);
    const trouble = make("p", { class: "bad", role: "alert" });
    const found = make("div", {}, make("p", { class: "note" }, "Sending…"));
    place.replaceChildren(trouble, found);
    const names = new Map(devices.map((each) => [each.id, deviceName(each)]));
    async function load() {
        const push = await call("GET", `/admin/test-pushes/${encodeURIComponent(id)}`, { signal });
        const rows = push.devices.map((each) => [
            names.get(each.device) ?? each.device,
            pushState(each.state),
            pushReason(each.reason),
            time(each.at),
        ]);
        if (rows.length) found.replaceChildren(table("Test push", ["Device", "State", "Reason", "Time"], rows));
        if (push.state === "scheduled" || push.state === "sending") return false;
        const accepted = push.counts.accepted ?? 0;
        announce(`Apple accepted the test push for ${accepted} of ${count(push.devices.length, "device", "devices")}.`);
        return true;
    }
    poll({ place, trouble, signal, interval, load });
}

const deviceName = (device) =>
    [[device.bundleId, device.appVersion].filter(Boolean).join(" "), device.environment].join(", ");
