// Formats values for display.

import { make } from "./elements.js";

const clock = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

// In the time zone of the browser.
export function time(text) {
    if (!text) return "–";
    const date = new Date(text);
    return Number.isNaN(date.valueOf()) ? text : make("time", { datetime: text }, clock.format(date));
}

export function wait(seconds) {
    if (seconds < 90) return seconds === 1 ? "a second" : `${seconds} seconds`;
    return `${Math.ceil(seconds / 60)} minutes`;
}

export function count(number, one, many) {
    return `${number} ${number === 1 ? one : many}`;
}

export function nameOf(person) {
    return person.displayName || person.email || person.phone || person.id;
}

const providers = { apple: "Sign in with Apple", password: "Password" };
const kinds = { email: "E-mail", phone: "Phone" };
const states = { active: "Active", disabled: "Disabled" };

// Unknown values are shown unchanged.
export const providerName = (provider) => providers[provider] ?? provider;
export const kindName = (kind) => kinds[kind] ?? kind;
export const stateName = (state) => states[state] ?? state;

export const actions = [
    "registered", "signed_in", "sign_in_refused", "reauthenticated", "profile_changed", "identifier_changed",
    "identifier_verified", "identifier_lost", "identifier_removed", "identifier_restored", "message_refused",
    "message_bounced", "password_changed", "password_reset", "password_removed", "apple_linked", "apple_unlinked",
    "apple_consent_revoked", "apple_transferred", "role_changed", "disabled", "enabled", "merged", "absorbed", "deleted",
    "session_ended", "sessions_ended", "session_revoked", "test_push_sent", "viewed",
];

export function actionName(action) {
    const words = action.replaceAll(/[._]/g, " ").replace("apple", "Apple");
    return words.charAt(0).toUpperCase() + words.slice(1);
}

const pushStates = {
    queued: "Waiting",
    claimed: "Being sent",
    accepted: "Accepted by Apple",
    rejected: "Refused by Apple",
    retryAt: "Will be sent again",
    suppressed: "Not sent",
    expired: "Expired",
    cancelled: "Cancelled",
    dead: "Expired after failures",
    inDoubt: "Unknown",
};

export function pushState(state) {
    const style = { accepted: "good", queued: "note", claimed: "note", retryAt: "note" }[state] ?? "bad";
    return make("span", { class: style }, pushStates[state] ?? state);
}

const pushReasons = {
    sessionEnded: "Signed out on the device",
    unseen: "App not opened for a long time",
    noDevice: "Device not registered",
    noAnswer: "Apple did not answer",
    quietHours: "Quiet hours",
    sendAtLocal: "Time not reached",
    capped: "Daily limit reached",
    Unregistered: "App removed, or pushes turned off",
    BadDeviceToken: "Apple does not know the device",
    DeviceTokenNotForTopic: "Device belongs to another app",
    TooManyRequests: "Too many pushes to the device",
};

export const pushReason = (reason) => pushReasons[reason] ?? reason;

const details = { pwd: "password", otp: "code", apple: "Apple" };

export const detailName = (detail) => details[detail] ?? detail;

const browsers = [
    [/\bEdg\/(\d+)/, "Edge"],
    [/\bFirefox\/(\d+)/, "Firefox"],
    [/Chrome\/(\d+)/, "Chrome"],
    [/\bVersion\/(\d+).* Safari\//, "Safari"],
];

// The name and version of a known browser; another client's own text.
export function clientName(text) {
    for (const [pattern, name] of browsers) {
        const version = text?.match(pattern)?.[1];
        if (version) return `${name} ${version}`;
    }
    return text;
}

export function state(person) {
    return make("span", { class: person.state === "active" ? "good" : "bad" }, stateName(person.state));
}
