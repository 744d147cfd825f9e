// The ledger of conflicts in figures, and weighing one again by other weights.

import { reasonOf, tell } from "./admin-fields.js";
import { momentWords, say, sayIn } from "./admin-words.js";
import { ApiProblem, call } from "./client.js";
import { el } from "./dom.js";
import { dateWords, departmentWords, figure, wordIn } from "./words.js";

const PAGE = 50;
const FACTORS = ["domain", "scope", "recency", "relevance"];
const PAUSE_MS = 150; // a slider that is still moving asks nothing
const sheet = document.getElementById("sheet");

export async function showConflicts(room) {
  const rows = el("tbody");
  const heads = ["when", "type", "winner", "loser", "margin", "decision", "weighAgain"];
  const table = el("table", { class: "listing ledger" }, el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col", class: `of-${key}` }, say(key))))), rows);
  const more = el("button", { type: "button", class: "quiet" }, say("more"));
  const load = async (cursor) => {
    const page = await call("GET", `/conflicts?${new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
    rows.append(...page.conflicts.map(rowNode));
    more.hidden = !page.next_cursor;
    more.onclick = () => load(page.next_cursor);
  };
  await load(null);
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "conflicts")), el("p", { class: "fact" }, say("conflictsHint"))),
    rows.children.length ? table : el("p", {}, say("noConflicts")), more);
}

function rowNode(one) {
  const { winner, loser, margin, threshold, decided, rule } = one.verdict;
  return el("tr", { "data-decided": String(decided), "data-task": one.task_id },
    el("th", { scope: "row" }, momentWords(one.created_at), el("span", { class: "fact narrow" }, wordIn("conflictType", one.conflict_type))),
    el("td", { class: "of-type" }, wordIn("conflictType", one.conflict_type)),
    el("td", { class: "of-winner" }, sideNode(winner)), el("td", { class: "of-loser" }, sideNode(loser)),
    el("td", { class: "of-margin number" }, figure(margin), el("span", { class: "fact" }, ` / ${figure(threshold)}`)),
    el("td", { class: "of-decision" }, el("span", { class: "standing", "data-status": decided ? "ready" : "partial" }, say(decided ? "decided" : "undecided")), el("span", { class: "fact rule" }, sayIn("ruleName", rule))),
    el("td", { class: "of-weighAgain" }, el("button", { type: "button", class: "plain", onclick: () => openScales(one) }, say("weighAgain"))));
}

function sideNode(side) {
  return [el("b", {}, figure(side.score)), " ", departmentWords(side.department), el("span", { class: "fact side-facts" }, `${wordIn("scope", side.scope)} · ${dateWords(side.effective)}`)];
}

// --- weighing again -----------------------------------------------------------------------------------------------

async function openScales(one) {
  const { verdict } = one;
  const told = el("p", { class: "fact", role: "status" });
  const result = el("div", { class: "weighed", "aria-live": "polite" });
  const sliders = Object.fromEntries(FACTORS.map((factor) => [factor, el("input", { type: "range", min: 0, max: 1, step: 0.05, value: verdict.weights[factor], id: `weight-${factor}` })]));
  const body = el("div", { class: "leaf" }, el("p", { class: "fact" }, say("loading")));
  sheet.replaceChildren(el("header", {}, el("h2", { id: "sheet-title" }, say("weighAgain")), el("button", { type: "button", class: "icon", "aria-label": say("close"), onclick: () => sheet.close() }, "×")), body);
  sheet.showModal();
  const ask = (weights) => weigh(one, weights, result, told);
  const refusal = await ask(null);
  if (refusal) { // its figures alone
    body.replaceChildren(el("p", { class: "notice", role: "status" }, say(refusal)), figuresNode([[say("before"), verdict]]));
    return;
  }
  let waiting = 0;
  const onInput = () => { clearTimeout(waiting); label(sliders); waiting = setTimeout(() => ask(valuesOf(sliders)), PAUSE_MS); };
  const reset = () => { for (const factor of FACTORS) sliders[factor].value = verdict.weights[factor]; onInput(); };
  body.replaceChildren(el("p", { class: "fact" }, say("weighHint")), ...(verdict.rule === "weighted_scoring" ? [] : [el("p", { class: "notice" }, say("ruleStands"))]),
    el("div", { class: "sliders", oninput: onInput }, FACTORS.map((factor) => el("div", { class: "slider" }, el("label", { for: `weight-${factor}` }, wordIn("factor", factor)), sliders[factor], el("output", { for: `weight-${factor}` })))),
    el("div", { class: "doing" }, el("button", { type: "button", class: "plain", onclick: reset }, say("asInRun")), told), result);
  label(sliders);
}

function label(sliders) {
  for (const slider of Object.values(sliders)) slider.parentElement.querySelector("output").textContent = figure(Number(slider.value));
}

const valuesOf = (sliders) => Object.fromEntries(Object.entries(sliders).map(([factor, slider]) => [factor, Number(slider.value)]));

let asked = 0; // an earlier answer that comes late is not shown

// Ask for the run's verdict by these weights and show it; gives the word for why it cannot be weighed, or null.
async function weigh(one, weights, result, told) {
  const turn = ++asked;
  if (weights && !Object.values(weights).some((value) => value > 0)) { tell(told, say("noWeight"), true); return null; }
  try {
    const { conflicts } = await call("POST", `/tasks/${one.task_id}/resolve`, weights ? { weights } : {});
    if (turn !== asked) return null;
    const found = conflicts.find(({ before }) => isSame(before.winner, one.verdict.winner) && isSame(before.loser, one.verdict.loser));
    if (!found) return "leftOut";
    tell(told, weights ? say(found.winner_changed ? "winnerChanged" : "winnerSame") : "");
    result.replaceChildren(figuresNode(weights ? [[say("before"), found.before], [say("after"), found.after]] : [[say("before"), found.before]]));
    return null;
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return "notYours";
    tell(told, reasonOf(error), true);
    return null;
  }
}

// Whether a source of the run is that of the ledger, whose figures leave out the id of a file somebody brought along.
function isSame(source, listed) {
  return source.kind === listed.kind && (listed.document_id === null || source.document_id === listed.document_id);
}

function figuresNode(verdicts) {
  return el("div", { class: "verdicts" }, verdicts.map(([title, verdict]) => el("section", {}, el("h3", {}, title),
    el("table", { class: "figures-table" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, say("side")), FACTORS.map((factor) => el("th", { scope: "col" }, wordIn("factor", factor))), el("th", { scope: "col" }, say("score")))),
      el("tbody", {}, [verdict.winner, verdict.loser].map((side) => el("tr", {},
        el("th", { scope: "row" }, side.title || departmentWords(side.department), el("span", { class: "fact side-facts" }, `${departmentWords(side.department)} · ${wordIn("scope", side.scope)} · ${dateWords(side.effective)}`)),
        FACTORS.map((factor) => el("td", { class: "number" }, figure(side.factors[factor]))), el("td", { class: "number" }, el("b", {}, figure(side.score))))))),
    el("p", {}, `${say("margin")} ${figure(verdict.margin)} · ${say("threshold")} ${figure(verdict.threshold)} · `, el("b", {}, say(verdict.decided ? "decided" : "undecided")), ` (${sayIn("ruleName", verdict.rule)})`))));
}
