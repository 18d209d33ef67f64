// Dialogs: each describes an action, and performs it when the operator confirms. Escape cancels it.

import { button, field, make, values } from "./elements.js";
import { complain, sentence } from "./notices.js";

let dialogs = 0;

// Returns the result of `perform`, or `undefined` if the operator cancels. `perform` receives the values of the fields.
// If it throws, the dialog stays open and shows the error. `whose` tells a password manager the account. `others` makes
// further nodes; its parameter ends the dialog with another value.
export function ask(question) {
    const { title, sentences = [], whose, fields = [], action, isGrave = false, perform, others = () => [] } = question;
    const id = `dialog-${(dialogs += 1)}`;
    return new Promise((resolve) => {
        let isBusy = false;
        let outcome;
        const trouble = make("p", { class: "bad", role: "alert" });
        const leave = button("Cancel", () => dialog.close());
        const go = make("button", { type: "submit", class: isGrave ? "grave" : "main" }, action);
        const form = make(
            "form",
            { submit },
            make("h2", { id }, title),
            make("div", { id: `${id}-text` }, sentences.map((text) => make("p", {}, text))),
            whose ? make("input", { autocomplete: "username", value: whose, hidden: true }) : [],
            fields.map(field),
            others(finish),
            trouble,
            make("p", { class: "buttons" }, leave, go),
        );
        const dialog = make(
            "dialog",
            { "aria-labelledby": id, "aria-describedby": `${id}-text`, cancel, close },
            form,
        );

        function busy(value) {
            isBusy = go.disabled = leave.disabled = value;
        }
        async function submit(event) {
            event.preventDefault();
            if (isBusy) return;
            busy(true);
            trouble.textContent = "";
            try {
                const value = await perform(values(form));
                busy(false);
                finish(value);
            } catch (problem) {
                busy(false);
                if (!dialog.open) return end(problem);
                trouble.textContent = sentence(problem);
                go.focus();
            }
        }
        function finish(value) {
            outcome = value ?? true;
            if (dialog.open) dialog.close();
            else resolve(outcome);
        }
        // An action in progress cannot be cancelled.
        function cancel(event) {
            if (isBusy) event.preventDefault();
        }
        // The page closes the dialog even then, when another view is shown.
        function close() {
            dialog.remove();
            if (!isBusy) resolve(outcome);
        }
        function end(problem) {
            complain(problem);
            resolve(undefined);
        }

        document.body.append(dialog);
        dialog.showModal();
        // One key must not be enough to confirm a destructive action.
        (form.querySelector("input:not([hidden]), select") ?? (isGrave ? leave : go)).focus();
    });
}
