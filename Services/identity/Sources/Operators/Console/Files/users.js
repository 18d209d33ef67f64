// Searches for users.

import { button, field, heading, link, make, row, table, values } from "./elements.js";
import { complain, fill } from "./notices.js";
import { call } from "./session.js";
import { count, nameOf, state, time } from "./words.js";

// Milliseconds without input before the search starts.
const pause = 250;

const search = { type: "search", autocomplete: "off", spellcheck: "false" };
const filters = [
    { name: "identifier", label: "E-mail or phone, from its beginning", ...search },
    { name: "id", label: "Id, from its beginning", ...search },
    { name: "state", label: "State", options: [["", "Any"], ["active", "Active"], ["disabled", "Disabled"]] },
    { name: "role", label: "Role", ...search },
];

const head = ["Name", "E-mail", "Phone", "State", "Role", "Last sign-in"];

export async function showUsers(place, query, signal) {
    const found = make("div", { id: "found" });
    const told = make("p", { class: "note", role: "status" });
    const form = make(
        "form",
        { role: "search", class: "filters", "aria-label": "Users" },
        filters.map((each) => field({ ...each, value: query.get(each.name) ?? "" })),
    );
    let timer;
    let asking = new AbortController();
    signal.addEventListener("abort", () => {
        clearTimeout(timer);
        asking.abort();
    });

    // Cancels the previous search.
    function start() {
        clearTimeout(timer);
        asking.abort();
        asking = new AbortController();
        const asked = values(form);
        const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
        history.replaceState(null, "", query.size ? `#/users?${query}` : "#/users");
        return list(asked, asking.signal);
    }
    function list(asked, aborted) {
        return fill(found, aborted, async () => {
            told.textContent = "";
            const page = await call("GET", "/admin/users", { query: asked, signal: aborted });
            if (!aborted.aborted) tell(page.users.length, page.next);
            return page.users.length ? [results(page, asked, aborted)] : [];
        });
    }
    function tell(number, more) {
        const others = more ? ", and there are more" : "";
        told.textContent = number ? `${count(number, "user", "users")}${others}.` : "No users found.";
    }
    function results(page, asked, aborted) {
        const body = make("tbody");
        const shown = table("Users", head, page.users.map(cells), body);
        const more = button("Show more", async () => {
            more.disabled = true;
            try {
                const query = { ...asked, after: page.next };
                const next = await call("GET", "/admin/users", { query, signal: aborted });
                const rows = next.users.map((user) => row(cells(user)));
                body.append(...rows);
                rows[0]?.querySelector("a").focus();
                page = next;
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

    form.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(start, pause);
    });
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        start();
    });
    place.replaceChildren(heading(1, "Users"), form, told, found);
    start();
}

function cells(user) {
    const name = link(`#/users/${encodeURIComponent(user.id)}`, nameOf(user));
    return [name, user.email, user.phone, state(user), user.role, time(user.lastSignInAt)];
}
