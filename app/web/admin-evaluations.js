// Evaluations that were kept: their main figures, their pages in a frame without any right, two beside each other.

import { barNode } from "./admin-charts.js";
import { reasonOf } from "./admin-fields.js";
import { momentWords, say, sayIn, whole } from "./admin-words.js";
import { call, session } from "./client.js";
import { el } from "./dom.js";
import { figure, percent, spanWords } from "./words.js";

const RATES = ["right", "facts", "recall", "outcome", "not_found_f1", "conflict_f1", "winner"];
const sheet = document.getElementById("sheet");

export async function showEvaluations(room) {
  const { runs } = await call("GET", "/admin/evaluations");
  const chosen = new Set();
  const compare = el("button", { type: "button", class: "plain", disabled: true, onclick: () => openRuns(orderedOf(runs, chosen)) }, say("compareTwo"));
  const onChoose = (id, isChosen) => {
    if (isChosen) chosen.add(id); else chosen.delete(id);
    compare.disabled = chosen.size !== 2;
    for (const box of room.querySelectorAll(".choose input")) box.disabled = chosen.size >= 2 && !box.checked;
  };
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "evaluations")), el("p", { class: "fact" }, say("evaluationsHint"))),
    ...(runs.length ? [el("div", { class: "doing" }, compare, el("span", { class: "fact" }, say("compareHint"))), el("ul", { class: "runs" }, runs.map((run) => runNode(run, onChoose)))] : [noneNode()]));
}

function noneNode() {
  return el("div", { class: "card none" }, el("p", {}, say("noEvaluations")), el("pre", { tabindex: 0 }, el("code", {}, "conclave eval run")));
}

function runNode(run, onChoose) {
  const when = momentWords(run.made_at);
  const box = el("input", { type: "checkbox", onchange: () => onChoose(run.run_id, box.checked) });
  return el("li", { class: "card", "data-run": run.run_id },
    el("div", { class: "run-head" }, el("label", { class: "choose" }, box, el("span", { class: "unseen" }, say("chooseRun", { when }))), el("h3", {}, when), gatesNode(run),
      el("button", { type: "button", class: "plain", onclick: () => openRuns([run]) }, say("openReport"))),
    el("p", { class: "fact" }, say("runFacts", { number: whole(run.questions), datasets: run.datasets.join(", "), version: run.version })),
    el("dl", { class: "rates" }, RATES.filter((name) => run.rates[name]).map((name) => rateNode(name, run.rates[name])), leakNode(run),
      el("div", {}, el("dt", {}, say("waitsMedian")), el("dd", {}, spanWords(run.median_seconds * 1000)))));
}

function gatesNode(run) {
  const broken = run.gates.filter((gate) => !gate.holds);
  if (!run.gates.length) return el("span", { class: "standing" }, say("noGates"));
  return el("span", { class: "standing", "data-status": broken.length ? "failed" : "ready", title: broken.map(({ metric, where, demand }) => [metric, where, demand].filter(Boolean).join(" ")).join("; ") },
    broken.length ? say("gatesBroken", { number: broken.length }) : say("gatesHold", { number: run.gates.length }));
}

function rateNode(name, rate) {
  return el("div", { title: `${percent(rate.low)} – ${percent(rate.high)}` }, el("dt", {}, sayIn("rateName", name)), el("dd", {}, percent(rate.value), barNode(rate.value)));
}

function leakNode(run) {
  return el("div", {}, el("dt", {}, say("leaks")), el("dd", { class: run.leak_count ? "bad" : "good" }, whole(run.leak_count)));
}

const orderedOf = (runs, chosen) => runs.filter((run) => chosen.has(run.run_id)).sort((one, other) => Date.parse(one.made_at) - Date.parse(other.made_at));

// One run, or an earlier and a later one.
async function openRuns(shown) {
  const [later, earlier] = [shown.at(-1), shown.length > 1 ? shown[0] : null];
  const body = el("div", { class: "leaf report" }, el("p", { class: "fact" }, say("loading")));
  const title = earlier ? `${momentWords(earlier.made_at)} → ${momentWords(later.made_at)}` : momentWords(later.made_at);
  sheet.replaceChildren(el("header", {}, el("h2", { id: "sheet-title" }, title), el("button", { type: "button", class: "icon", "aria-label": say("close"), onclick: () => sheet.close() }, "×")), body);
  sheet.classList.add("large");
  sheet.addEventListener("close", () => sheet.classList.remove("large"), { once: true });
  sheet.showModal();
  try {
    const html = await pageOf(later, earlier);
    const frame = el("iframe", { sandbox: true, title: say("reportOf", { when: title }) });
    frame.srcdoc = html;
    body.replaceChildren(...(earlier ? [differencesNode(earlier, later)] : []), frame, el("div", { class: "doing" }, el("button", { type: "button", class: "plain", onclick: () => keep(html, later) }, say("saveReport"))));
  } catch (error) {
    body.replaceChildren(...(earlier ? [differencesNode(earlier, later)] : []), el("p", { class: "error", role: "alert" }, reasonOf(error)));
  }
}

// The page needs the token, so it is fetched and shown in a frame that may do nothing.
async function pageOf(run, before) {
  const asked = before ? `?before=${before.run_id}` : "";
  const answer = await fetch(`/api/v1/admin/evaluations/${run.run_id}${asked}`, { headers: { Authorization: `Bearer ${session.token}` } });
  if (!answer.ok) throw new Error((await answer.json().catch(() => null))?.detail ?? `HTTP ${answer.status}`);
  return answer.text();
}

function keep(html, run) {
  const address = URL.createObjectURL(new Blob([html], { type: "text/html" }));
  el("a", { href: address, download: `evaluation-${run.run_id}.html` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function differencesNode(earlier, later) {
  const names = RATES.filter((name) => earlier.rates[name] && later.rates[name]);
  const rows = names.map((name) => {
    const difference = later.rates[name].value - earlier.rates[name].value;
    return el("tr", {}, el("th", { scope: "row" }, sayIn("rateName", name)), el("td", { class: "number" }, percent(earlier.rates[name].value)), el("td", { class: "number" }, percent(later.rates[name].value)),
      el("td", { class: `number ${difference > 0.0005 ? "good" : difference < -0.0005 ? "bad" : ""}` }, `${difference > 0 ? "+" : difference < 0 ? "−" : "±"}${figure(Math.abs(100 * difference), 1)}`));
  });
  return el("section", {}, el("table", { class: "figures-list" }, el("thead", {}, el("tr", {}, ["rate", "earlierRun", "laterRun", "difference"].map((key, at) => el("th", { scope: "col", class: at ? "number" : "" }, say(key))))), el("tbody", {}, rows)), el("p", { class: "fact" }, say("differenceHint")));
}
