// Evaluations that were kept: their main figures.

import { barNode } from "./admin-charts.js";
import { momentWords, say, sayIn, whole } from "./admin-words.js";
import { call } from "./client.js";
import { el } from "./dom.js";
import { percent, spanWords } from "./words.js";

const RATES = ["right", "facts", "recall", "outcome", "not_found_f1", "conflict_f1", "winner"];

export async function showEvaluations(room) {
  const { runs } = await call("GET", "/admin/evaluations");
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "evaluations")), el("p", { class: "fact" }, say("evaluationsHint"))),
    ...(runs.length ? [el("ul", { class: "runs" }, runs.map(runNode))] : [noneNode()]));
}

function noneNode() {
  return el("div", { class: "card none" }, el("p", {}, say("noEvaluations")), el("pre", { tabindex: 0 }, el("code", {}, "conclave eval run")));
}

function runNode(run) {
  const when = momentWords(run.made_at);
  return el("li", { class: "card", "data-run": run.run_id },
    el("div", { class: "run-head" }, el("h3", {}, when), gatesNode(run)),
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

