// The audit log: of all users, or of one.

import { button, field, heading, link, make, row, table, values } from "./elements.js";
import { complain, fill } from "./notices.js";
import { call } from "./session.js";
import { actionName, actions, clientName, count, detailName, time } from "./words.js";

export const auditSection = {
    title: "Audit log",
    draw: async (page) => {
        // Excludes `viewed`: operators' views would outnumber all other entries.
        const query = { user: page.id, except: "viewed", limit: 20 };
        const { entries } = await call("GET", "/admin/audit", { query, signal: page.signal });
        return [
            entries.length
                ? table("Audit log", head, entries.map(cells))
                : make("p", { class: "note" }, "No entries."),
            make("p", {}, link(`#/audit?user=${encodeURIComponent(page.id)}`, "All entries, with operators' views")),
        ];
    },
};

const head = ["Time", "Action", "User", "By", "Address", "Client", "Detail"];

const filters = [
    { name: "user", label: "User id", type: "search", autocomplete: "off", spellcheck: "false" },
    { name: "action", label: "Action", options: [["", "Any"], ...actions.map((each) => [each, actionName(each)])] },
    { name: "since", label: "From", type: "datetime-local" },
    { name: "until", label: "Until", type: "datetime-local" },
];

export async function showAudit(place, query, signal) {
    const found = make("div");
    const told = make("p", { class: "note", role: "status" });
    const form = make(
        "form",
        { role: "search", class: "filters", "aria-label": "Audit log" },
        filters.map((each) => field({ ...each, value: query.get(each.name) ?? "" })),
        make("p", { class: "field" }, make("button", { type: "submit", class: "main" }, "Show")),
    );
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        const asked = new URLSearchParams(Object.entries(values(form)).filter(([, value]) => value));
        history.replaceState(null, "", asked.size ? `#/audit?${asked}` : "#/audit");
        start();
    });
    function start() {
        const asked = values(form);
        const utc = (local) => local && `${new Date(local).toISOString().slice(0, 19)}Z`;
        const search = { ...asked, since: utc(asked.since), until: utc(asked.until) };
        return fill(found, signal, () =>
            list(search, signal, (number, more) => {
                told.textContent = number
                    ? `${count(number, "entry", "entries")}, the newest first${more ? ", and there are more" : ""}.`
                    : "No entries are found.";
            }),
        );
    }
    place.replaceChildren(heading(1, "Audit log"), form, told, found);
    start();
}

async function list(query, signal, tell) {
    let page = await call("GET", "/admin/audit", { query, signal });
    tell(page.entries.length, page.next);
    if (!page.entries.length) return make("p", { class: "note" }, "No entries.");
    const body = make("tbody");
    const shown = table("Audit log", head, page.entries.map(cells), body);
    const more = button("Show more", async () => {
        more.disabled = true;
        try {
            page = await call("GET", "/admin/audit", { query: { ...query, after: page.next }, signal });
            const rows = page.entries.map((entry) => row(cells(entry)));
            body.append(...rows);
            rows[0]?.querySelector("th").setAttribute("tabindex", "-1");
            rows[0]?.querySelector("th").focus();
            tell(body.rows.length, page.next);
            if (!page.next) more.remove();
        } catch (problem) {
            if (problem.name !== "AbortError") complain(problem);
        } finally {
            more.disabled = false;
        }
    });
    return make("div", {}, shown, page.next && make("p", {}, more));
}

function cells(entry) {
    return [
        time(entry.at),
        actionName(entry.action) + (entry.count > 1 ? ` (${entry.count} times)` : ""),
        entry.user && link(`#/users/${encodeURIComponent(entry.user)}`, short(entry.user)),
        doer(entry),
        entry.address,
        entry.device ?? clientName(entry.client),
        detailName(entry.detail),
    ];
}

// Enough of an id to distinguish two users; the link has the whole id.
const short = (id) => id.slice(0, 8);

function doer({ by, user }) {
    if (!by) return undefined;
    if (by.kind === "user" && (!by.id || by.id === user)) return "The user";
    const kind = by.kind.charAt(0).toUpperCase() + by.kind.slice(1);
    if (by.id) return make("span", {}, `${kind} `, link(`#/users/${encodeURIComponent(by.id)}`, short(by.id)));
    return [kind, by.name].filter(Boolean).join(" ");
}
