// Reauthenticates an operator whose last authentication is too old for an action.

import { ask } from "./dialogs.js";
import { button, make } from "./elements.js";
import { askForCode, operator, reauthenticateByCode, reauthenticateByPassword } from "./session.js";

const reason = "This action requires that you authenticated within the last ten minutes.";
const noAddress = "No code can be sent: your account has no verified e-mail address or phone number.";

// Returns whether the operator has reauthenticated.
export async function reauthenticate() {
    const person = operator();
    if (!person) return false;
    const address = verifiedAddress(person);
    if (!person.authProviders.includes("password")) return reauthenticateWithCode(address);
    const outcome = await ask({
        title: "Confirm your identity",
        sentences: [reason],
        fields: [
            {
                name: "password",
                label: "Your password",
                type: "password",
                autocomplete: "current-password",
                required: true,
            },
        ],
        action: "Go on",
        perform: async ({ password }) => {
            await reauthenticateByPassword(password);
            return "reauthenticated";
        },
        whose: person.email ?? person.phone ?? person.id,
        others: (end) =>
            make("p", {}, address ? button(`Send a code to ${address} instead`, () => end("code"), "plain") : noAddress),
    });
    return outcome === "code" ? reauthenticateWithCode(address) : outcome === "reauthenticated";
}

// Messages to an unverified address may reach another person than the operator.
function verifiedAddress(person) {
    if (person.email && person.emailVerified) return person.email;
    return person.phone && person.phoneVerified ? person.phone : null;
}

async function reauthenticateWithCode(address) {
    if (!address) {
        await ask({ title: "Confirm your identity", sentences: [reason, noAddress], action: "Close", perform: () => {} });
        return false;
    }
    let codeRequest;
    const asked = await ask({
        title: "Confirm your identity",
        sentences: [reason, `A code will be sent to ${address}.`],
        action: "Send it",
        perform: async () => {
            codeRequest = await askForCode(address, "stepUp");
        },
    });
    if (!asked) return false;
    const isReauthenticated = await ask({
        title: "Confirm your identity",
        sentences: [`A code is on its way to ${address}.`],
        fields: [{ name: "code", label: "Code", autocomplete: "one-time-code", inputmode: "numeric", required: true }],
        action: "Go on",
        perform: ({ code }) => reauthenticateByCode(address, codeRequest, code),
    });
    return Boolean(isReauthenticated);
}
