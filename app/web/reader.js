// A document opened where an answer quotes it: a dialog over the conversation, the quoted sentences marked.

import { cellsOf, isTableHead, spansOf, textOf } from "./blocks.js";
import { call, download } from "./client.js";
import { el, link, ownFile } from "./dom.js";
import { problemWords } from "./problems.js";
import { marked } from "./quotes.js";
import { dateWords, departmentWords, word, wordIn } from "./words.js";

let latest = null;
const dialog = () => document.getElementById("reader");

// Open the document of an address; `quotes` are what was taken from it, `title` which one is meant of several versions.
export async function openSource(url, quotes, title = "") {
  const mine = (latest = {});
  const isWanted = () => dialog().open && latest === mine; // not closed meanwhile, nor another one opened
  show(el("p", { class: "fact" }, word("readingOpens")), url);
  try {
    const { documents } = await call("GET", `/reading?url=${encodeURIComponent(url)}`);
    if (!isWanted()) return;
    const found = documents.map((one) => ({ one, read: marked(one.text, quotes) }));
    found.sort((a, b) => (b.one.title === title) - (a.one.title === title) || b.read.score - a.read.score);
    const { one, read } = found[0];
    const isFound = read.lines.some(({ parts }) => parts.some((part) => part.isQuoted));
    show([factsNode(one), quotes.length && !isFound ? el("p", { class: "notice" }, word("quoteMissing")) : null, textNode(read.lines, one.title),
      one.is_cut ? el("p", { class: "fact" }, word("cut")) : null], url, one.title);
    dialog().querySelector("mark")?.scrollIntoView({ block: "center" });
  } catch (error) {
    if (isWanted()) show(el("p", { class: "error", role: "alert" }, error.status === 404 ? word("unreadable") : problemWords(error)), url);
  }
}

function show(body, url, title = "") {
  const close = el("button", { type: "button", class: "quiet", onclick: () => dialog().close() }, word("close"));
  dialog().replaceChildren(
    el("header", {}, el("h2", {}, title || word("reading")), close),
    el("div", { class: "sheet", tabindex: "0" }, body),
    el("footer", {}, originalNode(url)));
  if (!dialog().open) dialog().showModal();
  close.focus();
}

function originalNode(url) {
  const path = ownFile(url.split("#")[0]);
  if (path === null) return link(url, word("originalAddress"), { class: "fact" });
  const problem = el("span", { class: "error", role: "alert" });
  const keep = () => download(path).catch((error) => { problem.textContent = problemWords(error); });
  return [el("button", { type: "button", class: "source fact", onclick: keep }, word("originalFile")), " ", problem];
}

function factsNode(one) {
  const [from, to] = [one.effective_from && dateWords(one.effective_from), one.effective_to && dateWords(one.effective_to)];
  const period = from && to ? word("inForceUntil", { from, to }) : from ? word("inForce", { from }) : word("made", { day: dateWords(one.created_at) });
  return el("p", { class: "fact" }, `${departmentWords(one.department)} · ${period}`, el("span", { class: "tag", "data-scope": one.scope }, wordIn("scope", one.scope)));
}

// Headings, list items, tables and paragraphs line by line; nothing in a document becomes a link or an image.
function textNode(lines, title) {
  const texts = lines.map(({ line }) => line);
  const nodes = [];
  for (let at = 0; at < lines.length; at += 1) {
    if (!isTableHead(texts, at)) { nodes.push(lineNode(lines[at], title)); continue; }
    let end = at + 2;
    while (end < lines.length && texts[end].includes("|")) end += 1;
    nodes.push(tableNode(lines.slice(at, end)));
    at = end - 1;
  }
  return el("div", { class: "document" }, nodes);
}

function lineNode({ line, parts }, title) {
  if (!line.trim()) return null;
  const heading = /^(#{1,6})\s+/.exec(line);
  if (heading && line.slice(heading[0].length).trim() === title) return null; // it stands above
  if (heading) return el("h3", { class: `depth-${heading[1].length}` }, inline(parts, heading[0].length));
  const item = /^\s*[-*•]\s+/.exec(line);
  if (item) return el("p", { class: "item" }, inline(parts, item[0].trimStart().length));
  return el("p", {}, inline(parts, 0));
}

// A row of which anything was quoted is marked as a whole.
function tableNode([head, , ...rows]) {
  const cells = (tag, { line, parts }) => cellsOf(line).map((cell) => {
    const shown = textOf(spansOf(cell));
    return el(tag, {}, shown && parts.some(({ isQuoted }) => isQuoted) ? el("mark", {}, shown) : shown);
  });
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": word("table") }, el("table", {},
    el("thead", {}, el("tr", {}, cells("th", head))), el("tbody", {}, rows.map((row) => el("tr", {}, cells("td", row))))));
}

function inline(parts, skipped) {
  return parts.flatMap(({ text, isQuoted }, index) => {
    const shown = textOf(spansOf(index === 0 ? text.slice(skipped) : text));
    return [index ? " " : null, isQuoted ? el("mark", {}, shown) : shown];
  });
}
