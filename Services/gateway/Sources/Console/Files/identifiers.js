// A person's ways in, and help with an identifier.

import { ask } from "./dialogs.js";
import { button, make, table } from "./elements.js";
import { call } from "./session.js";
import { kindName, nameOf, providerName } from "./words.js";

const kinds = ["email", "phone"];
const plain = { autocomplete: "off", spellcheck: "false" };
const inputs = { email: { type: "email", ...plain }, phone: { type: "tel", ...plain } };

export const identifiersSection = { title: "Ways in", draw };

function draw(page) {
    const { identifiers, authProviders } = page.person;
    const missing = kinds.filter((kind) => !identifiers.some((each) => each.kind === kind));
    const ways = [
        ...authProviders.map(providerName),
        ...(identifiers.some((each) => each.verified) ? ["Code to a proved address"] : []),
    ];
    return [
        make("p", {}, ways.length ? `Signs in with: ${ways.join(", ")}.` : "There is no way in."),
        identifiers.length
            ? table(
                  "Identifiers",
                  ["Identifier", "Kind", "Proved", "What to do"],
                  identifiers.map((each) => [
                      each.value,
                      kindName(each.kind),
                      each.verified ? "yes" : "no",
                      make("span", { class: "buttons" }, change(page, each), move(page, each), remove(page, each)),
                  ]),
              )
            : make("p", { class: "note" }, "There is no identifier."),
        make("p", { class: "buttons" }, missing.map((kind) => add(page, kind))),
    ];
}

const pathOf = (page, kind) => `${page.path}/identifiers/${encodeURIComponent(kind)}`;

function set(page, kind, title, further) {
    return page.change(identifiersSection, {
        title,
        sentences: [
            "Who has the new one can sign in to this account, so make sure that it is this person’s.",
            "Your word counts as its proof.",
            ...further,
        ],
        fields: [{ name: "identifier", label: kindName(kind), required: true, ...inputs[kind] }],
        action: "Set",
        isGrave: true,
        perform: ({ identifier }) => call("PUT", pathOf(page, kind), { body: { identifier } }),
        done: `${kindName(kind)} of ${nameOf(page.person)} is set.`,
    });
}

function add(page, kind) {
    return button(`Add ${kindName(kind).toLowerCase()}…`, () =>
        set(page, kind, `Add ${kindName(kind).toLowerCase()} of ${nameOf(page.person)}`, []),
    );
}

function change(page, { kind, value }) {
    const text = button("Change…", () =>
        set(page, kind, `Change ${value}`, [`${value} leads to this account no longer.`]),
    );
    text.setAttribute("aria-label", `Change ${value}`);
    return text;
}

function move(page, { kind, value }) {
    const text = button("Move…", async () => {
        const to = await ask({
            title: `Move ${value} to somebody else`,
            sentences: ["Whose is it? Their id stands on their page."],
            fields: [{ name: "to", label: "Id of the person", required: true, ...plain }],
            action: "Go on",
            perform: ({ to: id }) => call("GET", `/admin/users/${encodeURIComponent(id)}`),
        });
        if (!to) return;
        const [from, target] = [nameOf(page.person), nameOf(to)];
        await page.change(identifiersSection, {
            title: `Move ${value} to ${target}?`,
            sentences: [
                `${value} leads to the account of ${target} (${to.id}) from now on, and to that of ${from} no longer.`,
            ],
            action: "Move",
            isGrave: true,
            perform: () => call("POST", `${pathOf(page, kind)}/move`, { body: { to: to.id } }),
            done: `${value} is now of ${target}.`,
        });
    });
    text.setAttribute("aria-label", `Move ${value}`);
    return text;
}

function remove(page, { kind, value }) {
    const text = button(
        "Remove…",
        () =>
            page.change(identifiersSection, {
                title: `Remove ${value}?`,
                sentences: [
                    `Nobody signs in with ${value} any longer, and no message goes there.`,
                    "Whoever proves it may have it.",
                ],
                action: "Remove",
                isGrave: true,
                perform: () => call("DELETE", pathOf(page, kind)),
                done: `${value} is removed.`,
            }),
        "grave",
    );
    text.setAttribute("aria-label", `Remove ${value}`);
    return text;
}
