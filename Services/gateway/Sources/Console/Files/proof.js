// Asks an operator anew who they are, where the last proof is too old for what they want to do.

import { ask } from "./dialogs.js";
import { button, make } from "./elements.js";
import { askForCode, operator, proveByCode, proveByPassword } from "./session.js";

const reason = "What you want to do needs a proof that is at most ten minutes old.";
const noAddress = "No code can be sent: your account has no verified e-mail address or phone number.";

// Whether they said.
export async function prove() {
    const person = operator();
    if (!person) return false;
    const address = verifiedAddress(person);
    if (!person.authProviders.includes("password")) return proveWithCode(address);
    const outcome = await ask({
        title: "Prove that it is you",
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
            await proveByPassword(password);
            return "proved";
        },
        whose: person.email ?? person.phone ?? person.id,
        others: (end) =>
            make("p", {}, address ? button(`Send a code to ${address} instead`, () => end("code"), "plain") : noAddress),
    });
    return outcome === "code" ? proveWithCode(address) : outcome === "proved";
}

// A reader of messages to an unverified address need not be the operator.
function verifiedAddress(person) {
    if (person.email && person.emailVerified) return person.email;
    return person.phone && person.phoneVerified ? person.phone : null;
}

async function proveWithCode(address) {
    if (!address) {
        await ask({ title: "Prove that it is you", sentences: [reason, noAddress], action: "Close", perform: () => {} });
        return false;
    }
    let codeRequest;
    const asked = await ask({
        title: "Prove that it is you",
        sentences: [reason, `A code will be sent to ${address}.`],
        action: "Send it",
        perform: async () => {
            codeRequest = await askForCode(address, "stepUp");
        },
    });
    if (!asked) return false;
    const proved = await ask({
        title: "Prove that it is you",
        sentences: [`A code is on its way to ${address}.`],
        fields: [{ name: "code", label: "Code", autocomplete: "one-time-code", inputmode: "numeric", required: true }],
        action: "Go on",
        perform: ({ code }) => proveByCode(address, codeRequest, code),
    });
    return Boolean(proved);
}
