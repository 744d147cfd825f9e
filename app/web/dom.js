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
  node.append(...children.filter((child) => child !== null && child !== undefined).map(asNode));
  return node;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

export function link(url, text) {
  let safe = null;
  try {
    const parsed = new URL(url);
    if (parsed.protocol === "https:" || parsed.protocol === "http:") safe = parsed.href;
  } catch {
    safe = null;
  }
  return safe === null ? el("span", {}, text) : el("a", { href: safe, target: "_blank", rel: "noopener noreferrer" }, text);
}

// An answer's text as paragraphs, bold words and lists. It makes no links and no images, whatever the text says.
export function prose(text) {
  const root = document.createDocumentFragment();
  let list = null;
  let paragraph = null;
  for (const line of text.split("\n")) {
    const item = /^\s*(?:([-*•])|(\d{1,3})[.)])\s+(.*)$/.exec(line);
    if (item) {
      const tag = item[1] ? "ul" : "ol";
      if (list === null || list.tagName.toLowerCase() !== tag) {
        list = el(tag, item[2] ? { start: item[2] } : {});
        root.append(list);
      }
      list.append(el("li", {}, ...words(item[3])));
      paragraph = null;
    } else if (line.trim() === "") {
      paragraph = null;
    } else {
      list = null;
      const heading = /^#{1,6}\s+(.*)$/.exec(line);
      if (heading) root.append(el("h3", {}, ...words(heading[1])));
      else if (paragraph) paragraph.append(el("br"), ...words(line));
      else root.append((paragraph = el("p", {}, ...words(line))));
    }
  }
  return root;
}

function words(line) {
  const parts = line.split("**").map((part, index) => (index % 2 ? [el("strong", {}, ...cited(part))] : cited(part)));
  return parts.flat().filter((part) => part !== "");
}

// `[2]` names the second evidence below the answer.
function cited(text) {
  return text.split(/(\[\d{1,3}\])/).map((part, index) => (index % 2 ? el("sup", { class: "cite" }, part.slice(1, -1)) : part));
}
