// A user's page: their data, and the actions of operators.

import { auditSection } from "./audit.js";
import { ask } from "./dialogs.js";
import { button, facts, heading, link, make } from "./elements.js";
import { identifiersSection } from "./identifiers.js";
import { announce, complain, fill } from "./notices.js";
import { pushesSection } from "./pushes.js";
import { rightsSection } from "./rights.js";
import { call, operator } from "./session.js";
import { devicesSection, sessionsSection } from "./sessions.js";
import { nameOf, state, time } from "./words.js";

const sections = [
    stateSection(), identifiersSection, rightsSection, sessionsSection, devicesSection, pushesSection, auditSection,
];

export async function showPerson(place, id, signal) {
    const path = `/admin/users/${encodeURIComponent(id)}`;
    const title = heading(1, "");
    const frames = sections.map((section) => {
        const body = make("div");
        const name = heading(2, section.title);
        return { section, body, name, frame: make("section", {}, name, body) };
    });
    const page = { id, path, signal, person: await call("GET", path, { signal }), change };

    function draw() {
        title.textContent = nameOf(page.person);
        document.title = `${nameOf(page.person)} – Gatehouse console`;
        return Promise.all(frames.map(({ section, body }) => fill(body, signal, () => section.draw(page))));
    }

    // Shows a dialog, performs its action, refreshes the page and announces the result. The dialog's button may be gone
    // by then, so the focus moves to the section's heading.
    async function change(section, { done, ...dialog }) {
        const outcome = await ask(dialog);
        if (outcome === undefined || signal.aborted) return;
        try {
            page.person = await call("GET", path, { signal });
            await draw();
            frames.find((each) => each.section === section).name.focus();
            announce(done);
        } catch (problem) {
            if (!signal.aborted) complain(problem);
        }
    }

    place.replaceChildren(make("p", {}, link("#/users", "Users")), title, ...frames.map(({ frame }) => frame));
    draw();
}

function stateSection() {
    const section = { title: "Account", draw };
    function draw(page) {
        const { person } = page;
        return [
            facts([
                ["State", state(person)],
                ["Id", make("code", {}, person.id)],
                ["Name", person.displayName],
                ["Since", time(person.createdAt)],
                ["Last changed", time(person.updatedAt)],
                ["Last sign-in", time(person.lastSignInAt)],
            ]),
            person.pending?.length
                ? make("p", { class: "note" }, "The last change has not reached all services yet.")
                : "",
            make("p", { class: "buttons" }, person.id === operator()?.id ? "This is you." : turn(page)),
        ];
    }
    function turn(page) {
        const name = nameOf(page.person);
        if (page.person.state === "disabled") {
            return button("Enable…", () =>
                page.change(section, {
                    title: `Enable ${name}?`,
                    sentences: [`${name} can sign in again, in the same ways as before.`],
                    action: "Enable",
                    perform: () => call("POST", `${page.path}/enable`),
                    done: `${name} is enabled.`,
                }),
            );
        }
        return button(
            "Disable…",
            () =>
                page.change(section, {
                    title: `Disable ${name}?`,
                    sentences: [
                        `${name} is signed out on every device within a second.`,
                        "The user cannot sign in until an operator enables the account. Nothing is deleted.",
                    ],
                    action: "Disable",
                    isGrave: true,
                    perform: () => call("POST", `${page.path}/disable`),
                    done: `${name} is disabled.`,
                }),
            "grave",
        );
    }
    return section;
}
