// Live figures: asked for every few seconds while somebody can see them, and less often while they cannot be had.

import { facts, heading, make } from "./elements.js";
import { sentence } from "./notices.js";
import { call } from "./session.js";
import { time } from "./words.js";

const interval = 5000;
const longest = 60000;

export async function showFigures(place, signal) {
    const tiles = make("div");
    const note = make("p", { class: "note" }, "Loading…");
    const trouble = make("p", { class: "bad", role: "alert" });
    place.replaceChildren(heading(1, "Figures"), trouble, tiles, note);

    let timer;
    let failures = 0;
    let isAsking = false;
    async function ask() {
        clearTimeout(timer);
        if (signal.aborted || document.hidden || isAsking) return;
        isAsking = true;
        let pause = interval;
        try {
            show(tiles, note, await call("GET", "/admin/figures", { signal }));
            failures = 0;
            trouble.textContent = "";
            tiles.classList.remove("stale");
        } catch (problem) {
            if (signal.aborted) return;
            failures += 1;
            pause = Math.max(Math.min(interval * 2 ** failures, longest), (problem.retryAfter ?? 0) * 1000);
            tiles.classList.add("stale");
            // Said once, not with every attempt.
            if (trouble.textContent !== sentence(problem)) trouble.textContent = sentence(problem);
        } finally {
            isAsking = false;
        }
        timer = setTimeout(ask, pause);
    }
    document.addEventListener("visibilitychange", ask, { signal });
    signal.addEventListener("abort", () => clearTimeout(timer));
    ask();
}

const number = new Intl.NumberFormat("en-GB");

function show(tiles, note, figures) {
    // What is not counted to its end.
    const some = (value) => (value >= figures.mostCounted ? `${number.format(value)} or more` : number.format(value));
    const both = ({ hour, day }) => `${some(hour)} in the last hour, ${some(day)} in the last day`;
    tiles.replaceChildren(
        facts([
            ["People", number.format(figures.users)],
            ["Disabled", some(figures.disabledUsers)],
            ["Sign-ins", both(figures.signIns)],
            ["Refused sign-ins", both(figures.refusedSignIns)],
            ["Registrations", both(figures.registrations)],
            ["Deletions not finished", some(figures.pendingDeletions)],
        ]),
    );
    note.replaceChildren("As of ", time(figures.asOf), ".");
}
