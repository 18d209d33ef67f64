// The overview: counts and charts, refreshed every few seconds.

import { bars } from "./chart.js";
import { facts, heading, make, table } from "./elements.js";
import { poll } from "./polling.js";
import { call } from "./session.js";
import { time } from "./words.js";

const interval = 5000;

export async function showOverview(place, signal) {
    const tiles = make("div");
    const charts = make("div", { class: "charts" });
    const hours = make("div");
    const note = make("p", { class: "note" }, "Loading…");
    const trouble = make("p", { class: "bad", role: "alert" });
    const details = make("details", { hidden: true }, make("summary", {}, "Counts of each hour"), hours);
    place.replaceChildren(heading(1, "Overview"), trouble, tiles, charts, details, note);

    function show(figures) {
        showTiles(tiles, figures);
        // An older version of the service sends no hours.
        if (figures.hours) {
            details.hidden = false;
            showHours(charts, hours, figures.hours);
        }
        note.replaceChildren("As of ", time(figures.asOf), ".");
    }

    const load = async () => show(await call("GET", "/admin/figures", { signal }));
    poll({ place, trouble, signal, interval, load });
}

const number = new Intl.NumberFormat("en-GB");
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

function showTiles(tiles, figures) {
    // The service stops counting at `mostCounted`.
    const some = (value) => (value >= figures.mostCounted ? `${number.format(value)} or more` : number.format(value));
    const both = ({ hour, day }) => `${number.format(hour)} in the last hour, ${number.format(day)} in the last day`;
    tiles.replaceChildren(
        facts([
            ["Users", number.format(figures.users)],
            ["Disabled", some(figures.disabledUsers)],
            ["Sign-ins", both(figures.signIns)],
            ["Refused sign-ins", both(figures.refusedSignIns)],
            ["Registrations", both(figures.registrations)],
            ["Unfinished deletions", some(figures.pendingDeletions)],
        ]),
    );
}

const series = [
    { name: "Sign-ins", style: "plain", of: (hour) => hour.signIns },
    { name: "Refused sign-ins", style: "refused", of: (hour) => hour.refusedSignIns },
    { name: "Registrations", style: "plain", of: (hour) => hour.registrations },
];

function showHours(charts, place, hours) {
    const label = (hour) => clock.format(new Date(hour.from));
    charts.replaceChildren(
        ...series.map(({ name, style, of }) => {
            const points = hours.map((hour) => ({ label: label(hour), value: of(hour) }));
            const most = Math.max(...points.map(({ value }) => value));
            const title = `${name} in each of the last ${hours.length} hours, at most ${number.format(most)}`;
            return make(
                "figure",
                {},
                make("figcaption", {}, `${name} an hour, at most ${number.format(most)}`),
                bars(title, points, style),
                make("p", { class: "axis note" }, make("span", {}, label(hours[0])), make("span", {}, "now")),
            );
        }),
    );
    const rows = [...hours].reverse().map((hour) => [label(hour), ...series.map(({ of }) => number.format(of(hour)))]);
    place.replaceChildren(table("Counts of each hour", ["From", ...series.map(({ name }) => name)], rows));
}
