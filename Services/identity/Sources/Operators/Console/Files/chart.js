// Bars over time, as inline SVG. A screen reader reads the title; the table beside the charts has every figure.

const namespace = "http://www.w3.org/2000/svg";
const width = 240;
const height = 60;

function draw(tag, attributes, ...children) {
    const made = document.createElementNS(namespace, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    made.append(...children);
    return made;
}

// `points`: [{ label, value }], one bar each. The highest bar fills the height.
export function bars(title, points, style) {
    const most = Math.max(1, ...points.map(({ value }) => value));
    const step = width / points.length;
    const drawn = points.map(({ label, value }, place) => {
        const tall = (value / most) * height;
        const bar = { x: place * step + 1, y: height - tall, width: step - 2, height: tall };
        return draw("rect", bar, draw("title", {}, `${label}: ${value}`));
    });
    const base = draw("line", { x1: 0, y1: height, x2: width, y2: height });
    const name = draw("title", {}, title);
    const frame = { viewBox: `0 -2 ${width} ${height + 4}`, role: "img", "aria-label": title, class: `chart ${style}` };
    return draw("svg", frame, name, ...drawn, base);
}
