// Line icons, drawn as elements: nothing is fetched and no font is needed.

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  up: "M7 21V10l5-8c1.6 0 2.4 1 2.1 2.5L13.3 9H19c1.4 0 2.3 1.2 2 2.5l-1.5 7A3 3 0 0 1 16.6 21zM3 10h4v11H3z",
  down: "M17 3v11l-5 8c-1.6 0-2.4-1-2.1-2.5l.8-4.5H5c-1.4 0-2.3-1.2-2-2.5l1.5-7A3 3 0 0 1 7.4 3zM21 14h-4V3h4z",
  copy: "M9 9h11v12H9zM5 15H4V3h11v1",
  retry: "M4 12a8 8 0 1 0 2.6-5.9M4 3v4.5h4.5",
  attach: "M20 11.5l-8.3 8.3a5 5 0 0 1-7.1-7.1L13 4.3a3.4 3.4 0 0 1 4.8 4.8l-8.2 8.2a1.7 1.7 0 0 1-2.4-2.4l7.6-7.6",
  calendar: "M4 6h16v15H4zM4 11h16M8 3v5M16 3v5",
  close: "M5 5l14 14M19 5L5 19",
  save: "M12 3v12M7 10l5 5 5-5M4 20h16",
  bin: "M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6",
  dots: "M4.5 12a.8.8 0 1 0 1.6 0a.8.8 0 1 0-1.6 0M11.2 12a.8.8 0 1 0 1.6 0a.8.8 0 1 0-1.6 0M17.9 12a.8.8 0 1 0 1.6 0a.8.8 0 1 0-1.6 0",
  pin: "M9 4h6l-1 6 4 4H6l4-4zM12 14v6",
  pen: "M4 20l1-5L16 4l4 4L9 19z",
  box: "M4 8v12h16V8M3 4h18v4H3zM10 12h4",
  arrow: "M4 12h15M13 6l6 6-6 6",
  depth: "M12 3v18M5 8l7-5 7 5M5 14l7-5 7 5",
  scales: "M12 4v16M7 20h10M5 7h14M5 7l-3 7h6zM19 7l-3 7h6z",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", class: "glyph", "aria-hidden": "true", focusable: "false" })) {
    svg.setAttribute(key, value);
  }
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
