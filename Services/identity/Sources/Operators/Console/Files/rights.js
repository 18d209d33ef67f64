// A user's role and stores.

import { button, facts, make } from "./elements.js";
import { call, operator } from "./session.js";
import { nameOf } from "./words.js";

export const rightsSection = { title: "Role and stores", draw };

function draw(page) {
    const { person } = page;
    const isSelf = person.id === operator()?.id;
    return [
        facts([
            ["Role", person.role],
            ["Stores", person.storeIds.length ? person.storeIds.join(", ") : "none"],
        ]),
        make("p", { class: "buttons" }, !isSelf && role(page), stores(page)),
    ];
}

const later = "Services receive the change at the next refresh, within the lifetime of an access token.";

function role(page) {
    const name = nameOf(page.person);
    return button("Change role…", () =>
        page.change(rightsSection, {
            title: `Change the role of ${name}`,
            sentences: [
                "The role decides what the user may do in the team’s services, and whether they may use the console.",
                later,
            ],
            fields: [
                {
                    name: "role",
                    label: "Role",
                    hint: "A lower-case letter, and up to 31 letters, digits, _ or -.",
                    value: page.person.role,
                    required: true,
                    autocomplete: "off",
                    spellcheck: "false",
                },
            ],
            action: "Change",
            perform: ({ role }) => call("PATCH", page.path, { body: { role } }),
            done: `The role of ${name} is changed.`,
        }),
    );
}

function stores(page) {
    const name = nameOf(page.person);
    return button("Change stores…", () =>
        page.change(rightsSection, {
            title: `Change the stores of ${name}`,
            sentences: [later],
            fields: [
                {
                    name: "stores",
                    label: "Stores",
                    hint: "Separated by commas. Leave empty for none.",
                    value: page.person.storeIds.join(", "),
                    autocomplete: "off",
                    spellcheck: "false",
                },
            ],
            action: "Change",
            perform: ({ stores }) => {
                const storeIds = stores.split(",").map((each) => each.trim()).filter(Boolean);
                return call("PATCH", page.path, { body: { storeIds } });
            },
            done: `The stores of ${name} are changed.`,
        }),
    );
}
