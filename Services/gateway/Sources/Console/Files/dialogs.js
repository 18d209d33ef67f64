// Dialogs: each says what will happen, and does it when it is told to. Escape leaves it.

import { button, field, make, values } from "./elements.js";
import { complain, sentence } from "./notices.js";

let dialogs = 0;

// Gives what `perform` gave, or `undefined` where the dialog was left. `perform` is told what the fields say; while it
// throws, the dialog stays and says why. `whose` tells a keeper of passwords whose is asked for. `others` makes further
// nodes, told how to end the dialog with another value.
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
        // What is under way is waited for.
        function cancel(event) {
            if (isBusy) event.preventDefault();
        }
        // The page may close the dialog all the same, when another view is shown.
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
        // What is grave is not one key away.
        (form.querySelector("input:not([hidden]), select") ?? (isGrave ? leave : go)).focus();
    });
}
