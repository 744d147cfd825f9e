// One task with all its figures: whose it is, who works on it, until when; never what was asked.

import { momentWords, say, sayIn } from "./admin-words.js";
import { el } from "./dom.js";
import { agentWords, wordIn } from "./words.js";

const sheet = document.getElementById("sheet");

export function openFacts(one) {
  const at = (moment) => (moment ? momentWords(moment) : "–");
  const facts = [
    [say("asker"), askerNode(one)], [say("taskKind"), [sayIn("kindName", one.kind), one.mode ? ` · ${sayIn("modeName", one.mode)}` : ""]],
    one.agent ? [say("agent"), agentWords(one.agent)] : null,
    [say("ended"), endedNode(one)],
    [say("registered"), at(one.created_at)], [say("changed"), at(one.updated_at)], [say("endedAt"), at(one.completed_at)], [say("deadline"), at(one.deadline)],
    [say("attempt"), one.attempt], [say("holder"), one.holder ? el("code", {}, one.holder) : "–"], [say("lease"), one.status === "in_progress" ? at(one.lease_until) : "–"],
    one.steps ? [say("steps"), `${one.steps_done} / ${one.steps}`] : null,
    [say("task"), el("code", {}, one.task_id)], one.root_task_id === one.task_id ? null : [say("ofTask"), el("code", {}, one.root_task_id)],
    [say("session"), el("code", {}, one.session_id)], one.document_id ? [say("document"), el("code", {}, one.document_id)] : null,
  ].filter(Boolean);
  sheet.replaceChildren(
    el("header", {}, el("h2", { id: "sheet-title" }, sayIn("kindName", one.kind), " ", statusNode(one)), el("button", { type: "button", class: "icon", "aria-label": say("close"), onclick: () => sheet.close() }, "×")),
    el("div", { class: "leaf" }, el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))), el("p", { class: "fact" }, say("figuresOnly"))));
  sheet.showModal();
}

export function askerNode(one) {
  return one.user ? el("b", {}, one.user) : el("code", { title: say("tokenOnly") }, one.user_id.slice(0, 8));
}

// Where it stands; colours are those of documents.
export function statusNode(one) {
  if (one.waiting_for) return el("span", { class: "standing", "data-status": "partial" }, sayIn("waitsFor", one.waiting_for));
  if (one.is_lost) return el("span", { class: "standing", "data-status": "failed" }, say("lost"));
  const tone = { completed: "ready", failed: "failed", cancelled: "partial", in_progress: "running" }[one.status] ?? "";
  return el("span", { class: "standing", "data-status": tone }, wordIn("status", one.status));
}

export function endedNode(one) {
  if (one.error_code) return [el("code", { class: "bad" }, one.error_code), one.error_message ? el("span", { class: "fact side-facts" }, one.error_message) : null];
  return one.outcome ? wordIn("outcome", one.outcome) : one.status === "cancelled" ? wordIn("outcome", "cancelled") : "–";
}
