// Shows results and errors in regions that screen readers read out.

import { button, make } from "./elements.js";

const result = document.getElementById("result");
const trouble = document.getElementById("trouble");

export function announce(text) {
    trouble.textContent = "";
    result.textContent = text;
}

export function complain(problem) {
    result.textContent = "";
    trouble.textContent = sentence(problem);
}

export function clear() {
    result.textContent = "";
    trouble.textContent = "";
}

// An error of the console itself is logged for its developers.
export function sentence(problem) {
    if ("status" in problem) return problem.message;
    console.error(problem);
    return "An error occurred in the console. Reload the page.";
}

// Replaces the content of `place` with the result of `load`. On failure it shows the error and a button to try again.
export async function fill(place, signal, load) {
    place.setAttribute("aria-busy", "true");
    if (!place.hasChildNodes()) place.append(make("p", { class: "note" }, "Loading…"));
    try {
        const content = await load();
        if (signal.aborted) return;
        place.replaceChildren(...[content].flat());
    } catch (problem) {
        if (signal.aborted || problem.name === "AbortError") return;
        const again = button("Try again", () => fill(place, signal, load));
        place.replaceChildren(make("p", { class: "bad", role: "alert" }, sentence(problem)), make("p", {}, again));
    } finally {
        place.removeAttribute("aria-busy");
    }
}
