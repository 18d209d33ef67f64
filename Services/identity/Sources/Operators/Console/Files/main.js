// Selects the view by the fragment of the address, so that a view can be linked to.

import { showAudit } from "./audit.js";
import { button, heading, make } from "./elements.js";
import { announce, clear, complain } from "./notices.js";
import { showOverview } from "./overview.js";
import { showPerson } from "./person.js";
import { reauthenticate } from "./proof.js";
import { abandon, listen, operator, signOut } from "./session.js";
import { showSignIn } from "./signin.js";
import { showUsers } from "./users.js";
import { nameOf } from "./words.js";

const view = document.getElementById("view");
const places = document.getElementById("places");
const self = document.getElementById("self");

let leaving = new AbortController();

function route() {
    leaving.abort();
    leaving = new AbortController();
    for (const dialog of document.querySelectorAll("dialog")) dialog.close();
    const person = operator();
    places.hidden = self.hidden = !person;
    if (!person) {
        document.title = "Sign in – Gatehouse console";
        showSignIn(view, () => {
            clear();
            route();
        });
        return;
    }
    const own = document.getElementById("operator");
    own.textContent = nameOf(person);
    own.href = `#/users/${encodeURIComponent(person.id)}`;
    open(leaving.signal);
}

async function open(signal) {
    const [path, query] = location.hash.slice(1).split("?");
    const [, place, id] = path.split("/");
    markPlace(place || "users");
    view.replaceChildren(make("p", { class: "note" }, "Loading…"));
    view.focus();
    try {
        await show(place, id, new URLSearchParams(query), signal);
    } catch (problem) {
        if (signal.aborted || problem.name === "AbortError" || !operator()) return;
        refuse(problem, signal);
    }
    if (signal.aborted) return;
    const title = view.querySelector("h1");
    document.title = `${title.textContent} – Gatehouse console`;
    title.focus();
}

function show(place, id, query, signal) {
    if (place === "users" && id) return showPerson(view, decoded(id), signal);
    if (place === "audit") return showAudit(view, query, signal);
    if (place === "overview") return showOverview(view, signal);
    return showUsers(view, query, signal);
}

function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

function refuse(problem, signal) {
    const again = button("Try again", () => open(signal));
    view.replaceChildren(heading(1, "This cannot be shown"), make("p", {}, again));
    complain(problem);
}

function markPlace(place) {
    for (const link of places.querySelectorAll("a")) {
        if (link.hash === `#/${place}`) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
    }
}

function showForbidden() {
    leaving.abort();
    places.hidden = true;
    const title = heading(1, "Not for this account");
    view.replaceChildren(
        title,
        make("p", {}, `${nameOf(operator())} is signed in, but does not have the role of operators.`),
        make("p", {}, "Sign in with another account, or ask an operator for the role."),
    );
    document.title = `${title.textContent} – Gatehouse console`;
    title.focus();
}

async function leave() {
    try {
        await signOut();
        route();
        announce("You are signed out.");
    } catch (problem) {
        route();
        complain(problem);
    }
}

listen({
    whenEnded: () => {
        route();
        announce("Your session has ended. Sign in again.");
    },
    whenForbidden: showForbidden,
    reauthenticate,
});
document.getElementById("leave").addEventListener("click", leave);
document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    (view.querySelector("h1") ?? view).focus();
});
window.addEventListener("hashchange", () => {
    clear();
    route();
});
// A reload, another page or a closed tab discards the tokens, so the session is ended too.
window.addEventListener("pagehide", abandon);
window.addEventListener("pageshow", (event) => event.persisted && route());
route();
