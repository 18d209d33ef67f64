// Signing in: with a password, or with a code.

import { button, field, heading, make, values } from "./elements.js";
import { announce, clear, complain } from "./notices.js";
import { askForCode, signIn, signInWithCode } from "./session.js";

const identifier = { name: "identifier", label: "E-mail or phone", autocomplete: "username", required: true };
const password = {
    name: "password",
    label: "Password",
    type: "password",
    autocomplete: "current-password",
    required: true,
};
const digits = { name: "code", label: "Code", autocomplete: "one-time-code", inputmode: "numeric", required: true };

// `then` is called once the user has signed in.
export function showSignIn(place, then) {
    show(place, withPassword(place, then));
}

function show(place, content) {
    place.replaceChildren(heading(1, "Sign in to the console"), ...content);
    place.querySelector("input").focus();
}

function form(fields, action, perform) {
    const go = make("button", { type: "submit", class: "main" }, action);
    return make(
        "form",
        {
            class: "narrow",
            submit: async (event) => {
                event.preventDefault();
                if (go.disabled) return;
                go.disabled = true;
                clear();
                try {
                    await perform(values(event.target));
                } catch (problem) {
                    complain(problem);
                } finally {
                    go.disabled = false;
                }
            },
        },
        fields.map(field),
        make("p", { class: "buttons" }, go),
    );
}

function other(text, place, content) {
    const turn = button(text, () => {
        clear();
        show(place, content());
    }, "plain");
    return make("p", {}, turn);
}

function withPassword(place, then) {
    return [
        form([identifier, password], "Sign in", async (given) => {
            await signIn(given.identifier, given.password);
            then();
        }),
        other("Sign in with a code", place, () => withCode(place, then)),
    ];
}

function withCode(place, then) {
    return [
        form([identifier], "Send a code", async ({ identifier: address }) => {
            const codeRequest = await askForCode(address, "signIn");
            show(place, withDigits(place, then, address, codeRequest));
            announce(`If ${address} can receive a code, it is on its way.`);
        }),
        other("Sign in with a password", place, () => withPassword(place, then)),
    ];
}

function withDigits(place, then, address, codeRequest) {
    return [
        form([digits], "Sign in", async ({ code }) => {
            await signInWithCode(address, codeRequest, code);
            then();
        }),
        other("Send another code", place, () => withCode(place, then)),
    ];
}
