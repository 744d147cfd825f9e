// Charts in SVG: bars that stand on days, and bars that lie in tables.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 220, LEFT = 56, BOTTOM = 24, TOP = 10;
const WIDE = 1060, NARROW = 350; // in pixels, nearly, so that letters are as large as elsewhere
const MOST_LABELS = { [WIDE]: 10, [NARROW]: 5 };
const GRID_LINES = 4;

export function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// A share (0-1) of a track.
export function barNode(share) {
  return shape("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "bar-chart", "aria-hidden": "true" },
    shape("rect", { class: "track", x: 0, y: 0, width: 100, height: 8 }), shape("rect", { class: "fill", x: 0, y: 0, width: (100 * share).toFixed(2), height: 8 }));
}

// Days from left to right; `days` = [{label, told, parts: [number, …]}], parts stand on each other. `words` tells a number.
// The figures stand in a table beside it, so it is a picture to who cannot see it.
export function daysChart(days, title, words, kind = "") {
  const wide = matchMedia("(max-width: 46rem)").matches ? NARROW : WIDE;
  const most = ceiling(Math.max(...days.map(({ parts }) => sum(parts))));
  const height = HEIGHT - TOP - BOTTOM;
  const step = (wide - LEFT) / days.length;
  const width = Math.min(36, Math.max(1, step * 0.7));
  const svg = shape("svg", { viewBox: `0 0 ${wide} ${HEIGHT}`, class: `days-chart ${kind}`, role: "img", "aria-label": title });
  for (let line = 0; line <= GRID_LINES; line += 1) {
    const y = TOP + height - (height * line) / GRID_LINES;
    svg.append(shape("line", { class: "grid", x1: LEFT, x2: wide, y1: y, y2: y }), shape("text", { class: "tick", x: LEFT - 8, y: y + 4, "text-anchor": "end" }, words((most * line) / GRID_LINES)));
  }
  const every = Math.ceil(days.length / MOST_LABELS[wide]);
  days.forEach(({ label, told, parts }, index) => {
    const x = LEFT + step * index + (step - width) / 2;
    let y = TOP + height;
    const day = shape("g", { class: "day" }, shape("title", {}, told), shape("rect", { class: "hover", x: LEFT + step * index, y: TOP, width: step, height }));
    parts.forEach((value, part) => {
      const tall = (height * value) / most;
      y -= tall;
      if (tall > 0) day.append(shape("rect", { class: `part-${part}`, x: x.toFixed(1), y: y.toFixed(1), width: width.toFixed(1), height: Math.max(tall, 0.8).toFixed(1) }));
    });
    svg.append(day);
    if (index % every === 0) svg.append(shape("text", { class: "tick", x: x + width / 2, y: HEIGHT - 6, "text-anchor": "middle" }, label));
  });
  return svg;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

// The next round number whose quarters can be read: 4, 8, 20, 40, 80, 200 …
function ceiling(value) {
  if (!(value > 0)) return GRID_LINES;
  const unit = 10 ** Math.floor(Math.log10(value));
  const fitting = [0.4, 0.8, 1, 2, 4, 8, 10].map((times) => times * unit).find((one) => one >= value);
  return value < 1 ? fitting : Math.max(fitting, GRID_LINES);
}
