// Makes elements. Data from responses becomes text and never markup: nothing here parses HTML.

export function make(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === undefined || value === null || value === false) continue;
        if (typeof value === "function") made.addEventListener(name, value);
        else made.setAttribute(name, value === true ? "" : String(value));
    }
    made.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
    return made;
}

export function button(text, click, style) {
    return make("button", { type: "button", class: style, click }, text);
}

export function heading(level, text) {
    return make(`h${level}`, { tabindex: "-1" }, text);
}

export function link(hash, text) {
    return make("a", { href: hash }, text);
}

let fields = 0;

// A control under its label: `type` is that of an input, or `options` are those of a select ([value, text]).
export function field({ name, label, hint, options, value = "", type = "text", ...attributes }) {
    const id = `field-${(fields += 1)}`;
    const described = hint ? { "aria-describedby": `${id}-hint` } : {};
    const control = options
        ? make(
              "select",
              { id, name, ...described, ...attributes },
              options.map(([each, text]) => make("option", { value: each, selected: each === value }, text)),
          )
        : make("input", { id, name, type, value, ...described, ...attributes });
    return make(
        "p",
        { class: "field" },
        make("label", { for: id }, label),
        control,
        hint && make("span", { id: `${id}-hint`, class: "note" }, hint),
    );
}

// The values of a form's controls, by their names.
export function values(form) {
    return Object.fromEntries(
        [...form.elements]
            .filter((each) => each.name)
            .map((each) => [each.name, each.type === "password" ? each.value : each.value.trim()]),
    );
}

// The first cell of each row names it.
export function table(caption, head, rows, body = make("tbody")) {
    body.append(...rows.map(row));
    return make(
        "div",
        { class: "scroll" },
        make(
            "table",
            {},
            make("caption", {}, caption),
            make("thead", {}, make("tr", {}, head.map((title) => make("th", { scope: "col" }, title)))),
            body,
        ),
    );
}

export function row(cells) {
    return make(
        "tr",
        {},
        cells.map((content, place) => make(place ? "td" : "th", place ? {} : { scope: "row" }, content ?? "–")),
    );
}

export function facts(entries) {
    const one = ([name, content]) => make("div", {}, make("dt", {}, name), make("dd", {}, content ?? "–"));
    return make("dl", {}, entries.map(one));
}
