// Versions of a document, newest first, each with what differs from the one before.

import { daysWords, momentWords, say, sayIn } from "./admin-words.js";
import { detailsNode, el } from "./dom.js";

export function versionsNode(versions) {
  return el("ol", { class: "versions" }, versions.map((one, place) => versionNode(one, place === 0)));
}

function versionNode(one, isNewest) {
  const facts = [momentWords(one.created_at), one.file_name, daysWords(one.effective_from, one.effective_to)].filter(Boolean);
  return el("li", { "data-version": one.version },
    el("p", {}, el("b", {}, say("versionNumber", { number: one.version })), " ", el("span", { class: "standing", "data-status": one.status }, sayIn("stageName", one.status)), one.is_current ? el("span", { class: "tag" }, say("current")) : null),
    el("p", { class: "fact" }, facts.join(" · ")),
    one.status_detail ? el("p", { class: "notice" }, one.status_detail) : null,
    differencesNode(one, isNewest));
}

function differencesNode(one, isNewest) {
  if (one.version === 1) return el("p", { class: "fact" }, say("firstVersion"));
  const fields = Object.entries(one.changed_fields);
  return el("div", {},
    fields.length ? detailsNode(`${say("changedFields")} (${fields.length})`, el("ul", { class: "changed" }, fields.map(([name, [before, now]]) => el("li", {}, el("code", {}, name), " ", el("del", {}, shown(before)), " → ", el("ins", {}, shown(now))))), isNewest) : null,
    one.changes.length ? detailsNode(`${say("differences")} (${one.changes.length})`, el("div", { class: "diff" }, one.changes.map(changeNode)), isNewest) : el("p", { class: "fact" }, say("sameText")),
    one.is_cut ? el("p", { class: "fact" }, say("isCut")) : null);
}

function changeNode({ removed, added }) {
  return el("div", { class: "hunk" }, removed.map((line) => lineNode("del", "−", say("removed"), line)), added.map((line) => lineNode("ins", "+", say("added"), line)));
}

function lineNode(tag, sign, name, line) {
  return el(tag, {}, el("span", { class: "sign", "aria-hidden": "true" }, sign), el("span", { class: "unseen" }, `${name}: `), line);
}

function shown(value) {
  return value === null || value === undefined || value === "" ? say("empty") : typeof value === "object" ? JSON.stringify(value) : String(value);
}
