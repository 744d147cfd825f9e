// How the service did: the figures of many runs, as plain bars.

import { barNode } from "./admin-charts.js";
import { choice, field } from "./admin-fields.js";
import { say, sayIn, whole } from "./admin-words.js";
import { call } from "./client.js";
import { el } from "./dom.js";
import { agentWords, percent, spanWords, toolWords } from "./words.js";

const DAY_MS = 86_400_000;
const PERIODS = { 1: "lastDay", 7: "lastWeek", 30: "lastMonth", 90: "lastQuarter" };

export async function showPerformance(room) {
  const period = choice(Object.entries(PERIODS).map(([days, key]) => [days, say(key)]), "30");
  const figures = el("div", { class: "figures", "aria-live": "polite" });
  const load = async () => figures.replaceChildren(...picture(await call("GET", `/performance?${new URLSearchParams({ since: new Date(Date.now() - period.value * DAY_MS).toISOString() })}`)));
  period.addEventListener("change", load);
  await load();
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "performance")), el("p", { class: "fact" }, say("performanceHint"))),
    el("div", { class: "filters" }, field("period", say("period"), period)), figures);
}

function picture({ runs, performance_metrics: told }) {
  if (!runs) return [el("p", {}, say("noRuns"))];
  const agents = Object.entries(told.agent_execution_times).map(([name, ms]) => [agentName(name), ms]);
  const tools = Object.entries(told.tool_usage_stats);
  return [
    el("dl", { class: "tiles" },
      tile(say("runs"), whole(runs)), tile(say("runTime"), spanWords(told.query_processing_time_ms)),
      tile(say("conflictTime"), spanWords(told.conflict_resolution_time_ms)), tile(say("cacheRatio"), percent(told.cache_hit_ratio), told.cache_hit_ratio)),
    el("div", { class: "charts" }, chart(say("agentTimes"), agents, spanWords), chart(say("toolCalls"), tools.map(([name, { calls }]) => [toolName(name), calls]), whole),
      chart(say("toolTimes"), tools.map(([name, { avg_time_ms: ms }]) => [toolName(name), ms]), spanWords), qualityNode(told.content_quality_metrics)),
  ];
}

const agentName = (name) => agentWords(name.replace(/_agent$/, ""));

// "hr.rag_tool" → "HR · search"; a tool of another server keeps its name.
function toolName(name) {
  const at = name.indexOf(".");
  return at < 0 ? toolWords(name) : `${agentName(name.slice(0, at))} · ${toolWords(name.slice(at + 1))}`;
}

function tile(name, value, share = null) {
  return el("div", { class: "card" }, el("dt", {}, name), el("dd", {}, value, share === null ? null : barNode(share)));
}

function chart(title, values, words) {
  const sorted = [...values].sort(([, one], [, other]) => other - one);
  const most = Math.max(1, ...sorted.map(([, value]) => value));
  const rows = sorted.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "bars" }, barNode(value / most)), el("td", { class: "number" }, words(value))));
  return el("section", { class: "card chart" }, el("h3", {}, title), rows.length ? el("table", {}, el("tbody", {}, rows)) : el("p", { class: "fact" }, say("nothing")));
}

function qualityNode(quality) {
  const heads = ["agent", "completeness", "recency", "domainMatch"];
  const rows = Object.entries(quality).map(([name, one]) => el("tr", {}, el("th", { scope: "row" }, agentName(name)),
    el("td", {}, sayIn("completenessName", one.completeness)), el("td", {}, sayIn("recencyName", one.recency)), el("td", {}, sayIn("matchName", one.domain_match))));
  return el("section", { class: "card chart quality" }, el("h3", {}, say("quality")), rows.length
    ? el("table", {}, el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col" }, say(key))))), el("tbody", {}, rows)) : el("p", { class: "fact" }, say("nothing")));
}
