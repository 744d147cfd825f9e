// The conflict card: what two sources say, how each was weighed, and why one holds or both are shown.

import { call } from "./client.js";
import { bar, el } from "./dom.js";
import { icon } from "./icons.js";
import { dateWords, departmentWords, figure, percent, word, wordIn } from "./words.js";

const FACTORS = ["domain", "scope", "recency", "relevance"];
const GENERAL = "general"; // what belongs to everybody has nobody to ask
const TOLD_POINTS = 0.005; // smaller leads are not worth a word
const PATIENCE_MS = 1500;

// The conflicts of a finished run as its ledger tells them (dates, scopes, addresses); as the stream told them, which is
// less, where the ledger cannot be asked.
export async function weighed(taskId, told, flowAction) {
  if (!told?.length) return [];
  const weighing = flowAction?.find((action) => action.type === "resolver")?.metadata ?? {};
  const lesser = told.map((one) => ({ ...one, weights: weighing.weights, threshold: weighing.threshold }));
  try {
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, null));
    const found = await Promise.race([call("POST", `/tasks/${taskId}/resolve`, {}), late]);
    return found === null ? lesser : found.conflicts.map(({ before, ...rest }) => ({ ...rest, ...before, taskId }));
  } catch {
    return lesser;
  }
}

// `onOpen(url, title, quote)` opens a source at what it says.
export function conflictCard(conflict, onOpen) {
  const { winner, loser, decided } = conflict;
  const marks = decided ? [word("holds"), word("givesWay")] : [word("oneSide"), word("otherSide")];
  return el("section", { class: "conflict", "data-decided": String(decided), "aria-label": word(decided ? "conflictDecided" : "conflictOpen") },
    el("header", {}, icon("scales"), el("h3", {}, word(decided ? "conflictDecided" : "conflictOpen")),
      el("span", { class: "tag" }, wordIn("conflictType", conflict.conflict_type))),
    conflict.subject ? el("p", { class: "subject fact" }, `“${conflict.subject}”`) : null,
    el("div", { class: "sides" },
      sideNode(winner, marks[0], decided ? "holds" : "open", onOpen), sideNode(loser, marks[1], decided ? "gives-way" : "open", onOpen)),
    scoresNode(conflict, marks),
    conflict.rule === "weighted_scoring" ? marginNode(conflict) : null,
    el("p", { class: "why" }, whyWords(conflict)),
    canBeTold(conflict) ? tellingNode(conflict) : null);
}

// What the weights alone came to is for people to decide: both sides are documents, and say something.
function canBeTold({ taskId, winner, loser, rule }) {
  return Boolean(taskId) && rule === "weighted_scoring" && [winner, loser].every((side) => side.kind === "document" && side.document_id && side.claim);
}

// Puts the conflict on the desk of whoever owns one of the documents.
function tellingNode({ taskId, winner, loser }) {
  const told = el("span", { class: "fact", role: "status" }, word("tellHint"));
  const button = el("button", { type: "button", class: "toggle", onclick: tell }, word("tellOwner"));
  async function tell() {
    button.disabled = true;
    try {
      await call("POST", `/tasks/${taskId}/conflicts/tell`, { document_id: winner.document_id, other_document_id: loser.document_id });
      told.textContent = word("toldOwner");
      button.remove();
    } catch (error) {
      button.disabled = false;
      told.textContent = error.message;
    }
  }
  return el("p", { class: "telling" }, button, " ", told);
}

function sideNode(side, mark, standing, onOpen) {
  const facts = [departmentWords(side.department), side.effective ? word("since", { day: dateWords(side.effective) }) : ""].filter(Boolean);
  return el("article", { class: "party", "data-standing": standing },
    el("p", { class: "mark" }, mark),
    el("h4", {}, side.url && side.kind !== "attachment"
      ? el("button", { type: "button", class: "source", onclick: () => onOpen(side.url, side.title, side.claim) }, side.title)
      : side.title),
    el("p", { class: "fact" }, facts.join(" · "), side.scope ? el("span", { class: "tag", "data-scope": side.scope }, wordIn("scope", side.scope)) : null),
    side.claim ? el("blockquote", {}, side.claim) : el("p", { class: "fact nothing" }, word("saysNothing")));
}

// One row a factor: both sides' bars grow away from its name.
function scoresNode({ winner, loser, weights }, marks) {
  const rows = FACTORS.map((factor) => el("tr", {},
    valueCell(winner.factors[factor], "left"),
    el("th", { scope: "row" }, wordIn("factor", factor), weights ? el("small", {}, word("weight", { share: percent(weights[factor]) })) : null),
    valueCell(loser.factors[factor], "right")));
  const total = el("tr", { class: "total" }, valueCell(winner.score, "left"), el("th", { scope: "row" }, word("scores")), valueCell(loser.score, "right"));
  const head = el("tr", {}, el("th", { scope: "col" }, marks[0]), el("td", {}), el("th", { scope: "col" }, marks[1]));
  return el("table", { class: "scores" }, el("thead", { class: "unseen" }, head), el("tbody", {}, rows, total));
}

function valueCell(value, side) {
  return el("td", { class: side }, el("span", { class: "value" }, figure(value), bar(value)));
}

// The margin on a line with the threshold: right of the tick the winner holds.
function marginNode({ margin, threshold, decided }) {
  if (threshold === undefined) return null;
  const reach = Math.max(2 * threshold, 1.15 * margin, 0.02);
  const tick = el("span", { class: "tick" });
  tick.style.left = `${(100 * threshold / reach).toFixed(1)}%`;
  const line = el("span", { class: "gauge", "aria-hidden": "true" }, bar(margin / reach), tick);
  const told = word(decided ? "marginHolds" : "marginShort", { margin: figure(margin), threshold: figure(threshold) });
  return el("div", { class: "margin" }, line, el("span", { class: "told" }, told));
}

function whyWords(conflict) {
  const { winner, loser, rule, weights, decided } = conflict;
  const margin = figure(conflict.margin);
  if (!decided) {
    const asked = [...new Set([winner.department, loser.department])].filter((name) => name !== GENERAL);
    const departments = asked.map(departmentWords).join(", ") || word("issuers");
    return word("whyOpen", { margin, threshold: figure(conflict.threshold ?? 0), departments });
  }
  if (rule !== "weighted_scoring") return wordIn("whyRule", rule);
  const leads = FACTORS
    .map((factor) => ({ factor, points: (weights?.[factor] ?? 0) * (winner.factors[factor] - loser.factors[factor]) }))
    .filter(({ points }) => points >= TOLD_POINTS)
    .sort((one, other) => other.points - one.points)
    .map(({ factor, points }) => word("lead", { factor: wordIn("factor", factor).toLowerCase(), points: figure(points) }));
  return leads.length ? word("whyScores", { margin, leads: leads.join(", ") }) : word("whyEven", { margin });
}
