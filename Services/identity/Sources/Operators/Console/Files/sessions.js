// A user's sessions, and the devices that receive pushes.

import { button, make, table } from "./elements.js";
import { testPush } from "./pushes.js";
import { call, operator } from "./session.js";
import { nameOf, time } from "./words.js";

export const sessionsSection = { title: "Sessions", draw: drawSessions };
export const devicesSection = { title: "Devices", draw: drawDevices };

async function drawSessions(page) {
    const { sessions } = await call("GET", `${page.path}/sessions`, { signal: page.signal });
    if (!sessions.length) return make("p", { class: "note" }, "Signed in nowhere.");
    return [
        table(
            "Sessions",
            ["Device", "App", "From", "Signed in", "Last used", "Ends", "Actions"],
            sessions.map((session) => [
                deviceName(session.device),
                [session.device?.appVersion, session.device?.osVersion].filter(Boolean).join(", ") || undefined,
                session.ipAddress,
                time(session.createdAt),
                time(session.lastUsedAt),
                time(session.expiresAt),
                signOut(page, session),
            ]),
        ),
        make("p", { class: "buttons" }, signOutEverywhere(page)),
    ];
}

const deviceName = (device) => [device?.name, device?.model].filter(Boolean).join(", ") || "Unnamed";

function signOut(page, session) {
    const name = deviceName(session.device);
    const text = button("Sign out…", () =>
        page.change(sessionsSection, {
            title: `Sign ${nameOf(page.person)} out of ${name}?`,
            sentences: ["The session ends within a second. Signing in again is possible."],
            action: "Sign out",
            isGrave: true,
            perform: () => call("DELETE", `${page.path}/sessions/${encodeURIComponent(session.id)}`),
            done: `${nameOf(page.person)} is signed out of ${name}.`,
        }),
    );
    text.setAttribute("aria-label", `Sign out of ${name}`);
    return text;
}

function signOutEverywhere(page) {
    const name = nameOf(page.person);
    return button(
        "Sign out everywhere…",
        () =>
            page.change(sessionsSection, {
                title: `Sign ${name} out everywhere?`,
                sentences: [`All sessions of ${name} end within a second. Signing in again is possible.`],
                action: "Sign out everywhere",
                isGrave: true,
                perform: () => call("DELETE", `${page.path}/sessions`),
                done: `${name} is signed out everywhere.`,
            }),
        "grave",
    );
}

/** Whether the user lets the app show notifications; empty where the app has not said. */
function alerts(device) {
    if (device.alertsAllowed === undefined) return "";
    return device.alertsAllowed ? "allowed" : "not allowed";
}

async function drawDevices(page) {
    const { devices } = await call("GET", `${page.path}/devices`, { signal: page.signal });
    if (!devices.length) return make("p", { class: "note" }, "No device receives pushes.");
    const found = table(
        "Devices",
        ["App", "Kind", "Environment", "State", "Alerts", "Language", "Time zone", "Registered", "Last updated"],
        devices.map((device) => [
            [device.bundleId, device.appVersion].filter(Boolean).join(" "),
            device.kind,
            device.environment,
            make("span", { class: device.status === "active" ? "good" : "bad" }, device.status),
            alerts(device),
            device.locale,
            device.timeZone,
            time(device.createdAt),
            time(device.updatedAt),
        ]),
    );
    return page.person.id === operator()?.id ? [found, ...testPush(page, devices)] : found;
}
