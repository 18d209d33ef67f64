// Repeats a request while the page is visible, less often after errors.

import { sentence } from "./notices.js";

// The longest pause after errors.
const longest = 60000;

// Ends with `signal`, and when `load` returns true. `interval` is in milliseconds. `trouble` shows an error, and until
// the next success `place` is marked as stale.
export function poll({ place, trouble, signal, interval, load }) {
    let timer;
    let failures = 0;
    let isAsking = false;
    let isDone = false;
    async function ask() {
        clearTimeout(timer);
        if (signal.aborted || document.hidden || isAsking || isDone) return;
        isAsking = true;
        let pause = interval;
        try {
            isDone = (await load()) === true;
            failures = 0;
            trouble.textContent = "";
            place.classList.remove("stale");
        } catch (problem) {
            if (signal.aborted) return;
            failures += 1;
            pause = Math.max(Math.min(interval * 2 ** failures, longest), (problem.retryAfter ?? 0) * 1000);
            place.classList.add("stale");
            // Set once, so that a screen reader does not repeat it with every attempt.
            if (trouble.textContent !== sentence(problem)) trouble.textContent = sentence(problem);
        } finally {
            isAsking = false;
        }
        if (!isDone) timer = setTimeout(ask, pause);
    }
    document.addEventListener("visibilitychange", ask, { signal });
    signal.addEventListener("abort", () => {
        clearTimeout(timer);
        place.classList.remove("stale");
    });
    ask();
}
