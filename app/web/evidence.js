// What an answer rests on: the list below it, and how sure the answer is.

import { bar, detailsNode, el, link, ownFile, safeAddress } from "./dom.js";
import { bare } from "./titles.js";
import { dateWords, percent, surenessOf, word, wordIn } from "./words.js";

// Outcome, confidence, and what the reader should know about how the answer came.
export function verdictNode(outcome, answer) {
  const meta = answer?.execution_metadata ?? {};
  return el("div", { class: "verdict" },
    el("span", { class: "badge", "data-outcome": outcome }, wordIn("outcome", outcome)),
    confidenceNode(outcome, answer?.confidence_score),
    meta.as_of ? el("span", { class: "note" }, word("asOfTold", { day: dateWords(meta.as_of) })) : null,
    meta.cached ? el("span", { class: "note" }, word("cached")) : null,
    answer?.durability === "pending" ? el("span", { class: "note pending", title: word("pendingHint") }, word("pending")) : null);
}

// Words; the figure is in the hint, and bars and percentages of the whole turn stand there once it is pressed.
function confidenceNode(outcome, score) {
  const sureness = surenessOf(outcome, score);
  if (sureness === null) return null;
  const toggle = () => button.setAttribute("aria-expanded", String(button.closest(".turn").classList.toggle("figures")));
  const button = el("button", { type: "button", class: "quiet confidence", "data-sureness": sureness, "aria-expanded": "false", onclick: toggle,
    title: `${word("confidence")} ${percent(score)} · ${word("figures")}` }, wordIn("sureness", sureness), el("span", { class: "amount" }, bar(score), ` ${percent(score)}`));
  return button;
}

// Told in full, not only as a hint: who reads it on a phone cannot hover.
export function durabilityNode(answer) {
  return answer?.durability === "pending" ? el("p", { class: "notice pending", role: "note" }, word("pendingHint")) : null;
}

// `titles` is Map address -> title; `onOpen(number)` opens evidence `number` (from 1) at what was quoted from it.
export function evidenceNode(evidence, titles, onOpen) {
  if (!evidence?.length) return null;
  const items = evidence.map((item, index) => el("li", {},
    canBeRead(item)
      ? el("button", { type: "button", class: "source", onclick: () => onOpen(index + 1) }, nameOf(item.url, titles))
      : link(item.url, nameOf(item.url, titles), { class: "source" }),
    el("span", { class: "facts" },
      el("span", { class: "tag", "data-scope": item.scope }, wordIn("scope", item.scope)),
      el("span", { class: "tag" }, wordIn("source", item.source_type)),
      el("span", { class: "fact" }, dateWords(item.created_at)),
      el("span", { class: "fact relevance" }, `${word("relevance")} `, bar(item.relevance_score), ` ${percent(item.relevance_score)}`),
      titles.has(item.url) && safeAddress(item.url) ? el("span", { class: "fact address" }, addressOf(item.url)) : null)));
  return el("section", { class: "evidence" }, el("h3", {}, word("evidence")), el("ol", {}, items));
}

export function canBeRead(item) {
  return !["web", "file"].includes(item.source_type) && (safeAddress(item.url) ?? ownFile(bare(item.url))) !== null;
}

// What an evidence is called: its document's title, else its address; with the page, where the document has pages.
export function nameOf(url, titles) {
  const page = /#page=(\d+)$/.exec(url)?.[1];
  const name = titles.get(url) ?? addressOf(url);
  return page ? `${name} · ${word("page", { number: page })}` : name;
}

function addressOf(url) {
  const safe = safeAddress(url);
  if (safe === null) return decoded(url.replace(/^file:/, ""));
  const { hostname, pathname } = new URL(safe);
  return hostname + decoded(pathname);
}

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // no UTF-8: shown as it is
  }
}

// What was done in a lesser way than planned, and why: a model that failed, a budget that was spent.
export function degradedNode(answer) {
  const notes = answer?.execution_metadata?.degraded ?? [];
  return notes.length ? detailsNode(word("degraded"), el("ul", {}, notes.map((note) => el("li", {}, el("code", {}, note))))) : null;
}

export function partialNode(results) {
  const items = Object.entries(results ?? {}).map(([agent, result]) => el("li", {}, el("b", {}, agent), `: ${result.answer ?? result.error ?? result.status}`));
  return items.length ? detailsNode(word("partial"), el("ul", {}, items), true) : null;
}

