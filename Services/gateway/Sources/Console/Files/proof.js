// Asks an operator anew who they are, where the last proof is too old for what they want to do.

import { ask } from "./dialogs.js";
import { button, make } from "./elements.js";
import { askForCode, operator, proveByCode, proveByPassword } from "./session.js";

const reason = "What you want to do needs a proof that is at most ten minutes old.";

// Whether they said.
export async function prove() {
    const person = operator();
    if (!person) return false;
    const address = person.email ?? person.phone;
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
        whose: address ?? person.id,
        others: (end) =>
            address ? [make("p", {}, button(`Send a code to ${address} instead`, () => end("code"), "plain"))] : [],
    });
    return outcome === "code" ? proveWithCode(address) : outcome === "proved";
}

async function proveWithCode(address) {
    let codeRequest;
    const asked = await ask({
        title: "Prove that it is you",
        sentences: [reason, `A code will be sent to ${address}.`],
        action: "Send it",
        perform: async () => {
            codeRequest = await askForCode(address);
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
