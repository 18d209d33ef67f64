// A user's credentials, and the actions on their identifiers.

import { ask } from "./dialogs.js";
import { button, make, table } from "./elements.js";
import { call } from "./session.js";
import { kindName, nameOf, providerName } from "./words.js";

const kinds = ["email", "phone"];
const plain = { autocomplete: "off", spellcheck: "false" };
const inputs = { email: { type: "email", ...plain }, phone: { type: "tel", ...plain } };

export const identifiersSection = { title: "Credentials", draw };

function draw(page) {
    const { identifiers, authProviders } = page.person;
    const missing = kinds.filter((kind) => !identifiers.some((each) => each.kind === kind));
    const ways = [
        ...authProviders.map(providerName),
        ...(identifiers.some((each) => each.verified) ? ["Code to a verified address"] : []),
    ];
    return [
        make("p", {}, ways.length ? `Signs in with: ${ways.join(", ")}.` : "The user cannot sign in."),
        identifiers.length
            ? table(
                  "Identifiers",
                  ["Identifier", "Kind", "Verified", "Actions"],
                  identifiers.map((each) => [
                      each.unicode ? `${each.unicode} (${each.value})` : each.value,
                      kindName(each.kind),
                      each.verified ? "yes" : "no",
                      make("span", { class: "buttons" }, change(page, each), move(page, each), remove(page, each)),
                  ]),
              )
            : make("p", { class: "note" }, "The user has no identifier."),
        make("p", { class: "buttons" }, missing.map((kind) => add(page, kind))),
    ];
}

const pathOf = (page, kind) => `${page.path}/identifiers/${encodeURIComponent(kind)}`;

function set(page, kind, title, further) {
    return page.change(identifiersSection, {
        title,
        sentences: [
            "The owner of the new identifier can sign in to this account. Make sure that it belongs to this user.",
            "It counts as verified when you set it.",
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
        set(page, kind, `Change ${value}`, [`${value} can no longer be used to sign in to this account.`]),
    );
    text.setAttribute("aria-label", `Change ${value}`);
    return text;
}

function move(page, { kind, value }) {
    const text = button("Move…", async () => {
        const to = await ask({
            title: `Move ${value} to another user`,
            sentences: ["Enter the id of the user that it belongs to. Their page shows it."],
            fields: [{ name: "to", label: "Id of the user", required: true, ...plain }],
            action: "Continue",
            perform: ({ to: id }) => call("GET", `/admin/users/${encodeURIComponent(id)}`),
        });
        if (!to) return;
        const [from, target] = [nameOf(page.person), nameOf(to)];
        await page.change(identifiersSection, {
            title: `Move ${value} to ${target}?`,
            sentences: [
                `${value} then signs in to the account of ${target} (${to.id}), and no longer to that of ${from}.`,
            ],
            action: "Move",
            isGrave: true,
            perform: () => call("POST", `${pathOf(page, kind)}/move`, { body: { to: to.id } }),
            done: `${value} now belongs to ${target}.`,
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
                    `${value} can no longer be used to sign in, and receives no more messages.`,
                    "A user who verifies it can add it to their account.",
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
