// Building elements. Text from the server only ever becomes text nodes, never markup.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "hidden") node.hidden = true;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false).map(asNode));
  return node;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

// The address if a browser may follow it, else null.
export function safeAddress(url) {
  try {
    const parsed = new URL(url);
    return parsed.protocol === "https:" || parsed.protocol === "http:" ? parsed.href : null;
  } catch {
    return null;
  }
}

// The path of a file that was brought in here and has no address elsewhere, below the API; null for any other address.
export function ownFile(url) {
  return /^\/api\/v1(\/documents\/[0-9a-f-]{36}\/original)$/.exec(url)?.[1] ?? null;
}

export function link(url, text, attributes = {}) {
  const safe = safeAddress(url);
  return safe === null ? el("span", attributes, text) : el("a", { ...attributes, href: safe, target: "_blank", rel: "noopener noreferrer" }, text);
}

export function detailsNode(title, body, open = false) {
  return el("details", { open }, el("summary", {}, title), body);
}

// A share (0-1) as a bar. The width is set through the style object: the page's policy allows no style attributes.
export function bar(share, attributes = {}) {
  const fill = el("span", { class: "bar-fill" });
  fill.style.width = `${(100 * Math.max(0, Math.min(1, share))).toFixed(1)}%`;
  return el("span", { class: "bar", "aria-hidden": "true", ...attributes }, fill);
}

// Tells people who cannot see what changed.
export function announce(text) {
  document.getElementById("announce").textContent = text;
}
