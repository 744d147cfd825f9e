// What the company asked of models: tokens, runs and cost by day and person.

import { barNode, daysChart } from "./admin-charts.js";
import { choice, field } from "./admin-fields.js";
import { say, sayIn, whole } from "./admin-words.js";
import { call } from "./client.js";
import { detailsNode, el } from "./dom.js";
import { currentLanguage, dateWords, figure } from "./words.js";

const DAY_MS = 86_400_000;
const PERIODS = { 7: "lastWeek", 30: "lastMonth", 90: "lastQuarter" };
const MILLION = 1_000_000;

export async function showUsage(room) {
  const period = choice(Object.entries(PERIODS).map(([days, key]) => [days, say(key)]), "30");
  const measure = choice(["tokens", "runs", "cost"].map((one) => [one, sayIn("measureName", one)]), "tokens");
  const figures = el("div", { class: "figures", "aria-live": "polite" });
  let found = null;
  const draw = () => figures.replaceChildren(...picture(found, measure.value));
  const load = async () => { found = await call("GET", `/admin/usage?days=${period.value}`); draw(); };
  period.addEventListener("change", load);
  measure.addEventListener("change", draw);
  await load();
  if (!found.total.calls) measure.value = "runs"; // nothing else to be seen
  draw();
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "usage")), el("p", { class: "fact" }, say("usageHint"))),
    el("div", { class: "filters" }, field("period", say("period"), period), field("measure", say("measure"), measure)), figures);
}

const tokensOf = (one) => one.prompt_tokens + one.completion_tokens + one.open_tokens;

function picture(found, measure) {
  const { total, is_priced: isPriced } = found;
  const cost = (one) => (isPriced ? figure(one.cost_micros / MILLION, 2) : "–");
  return [
    el("dl", { class: "tiles" }, tile(say("runs"), whole(total.runs), total.failed ? say("failedRuns", { number: whole(total.failed) }) : ""), tile(say("modelCalls"), whole(total.calls)),
      tile(say("tokensIn"), short(total.prompt_tokens)), tile(say("tokensOut"), short(total.completion_tokens), total.open_tokens ? say("tokensOpen", { number: short(total.open_tokens) }) : ""),
      tile(say("cost"), cost(total), isPriced ? say("inCurrency") : say("noPrice"))),
    total.calls ? null : el("p", { class: "notice calm" }, say("noModel")),
    isPriced || !total.calls ? null : el("p", { class: "fact" }, say("noPriceHint")),
    chartNode(found, measure),
    usersNode(found, cost),
  ].filter(Boolean);
}

function tile(name, value, below = "") {
  return el("div", { class: "card" }, el("dt", {}, name), el("dd", {}, value, below ? el("small", { class: "fact" }, below) : null));
}

function chartNode(found, measure) {
  const byDay = new Map(found.days.map((one) => [one.day, one]));
  const nothing = { runs: 0, failed: 0, prompt_tokens: 0, completion_tokens: 0, open_tokens: 0, cost_micros: 0, calls: 0 };
  const days = [];
  for (let at = Date.parse(found.since); at <= Date.parse(found.until); at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10);
    days.push({ day, ...(byDay.get(day) ?? nothing) });
  }
  const parts = { tokens: (one) => [one.prompt_tokens + one.open_tokens, one.completion_tokens], runs: (one) => [one.runs - one.failed, one.failed], cost: (one) => [one.cost_micros / MILLION] }[measure];
  const words = measure === "cost" ? (value) => figure(value, value < 10 ? 2 : 0) : short;
  const title = say("byDay", { measure: sayIn("measureName", measure) });
  const shown = days.map((one) => ({ label: shortDay(one.day), told: `${dateWords(one.day)}: ${parts(one).map(words).join(" + ")}`, parts: parts(one) }));
  return el("section", { class: "card chart by-day" }, el("h3", {}, title), legend(measure), daysChart(shown, title, words, `of-${measure}`), detailsNode(say("asTable"), tableOf(found)));
}

function legend(measure) {
  const names = { tokens: ["tokensIn", "tokensOut"], runs: ["endedWell", "failedOnes"], cost: [] }[measure];
  return el("ul", { class: `legend of-${measure}` }, names.map((key, part) => el("li", { class: `key-${part}` }, say(key))));
}

function tableOf(found) {
  const rows = found.days.map((one) => el("tr", {}, el("th", { scope: "row" }, dateWords(one.day)), ...cells(one, found.is_priced)));
  return el("div", { class: "wide" }, el("table", { class: "figures-list" }, headNode("day"), el("tbody", {}, rows)));
}

function headNode(first) {
  return el("thead", {}, el("tr", {}, [first, "runs", "modelCalls", "tokensIn", "tokensOut", "cost"].map((key) => el("th", { scope: "col", class: key === first ? "" : `number of-${key}` }, say(key)))));
}

function cells(one, isPriced, words = whole) {
  const cost = isPriced ? figure(one.cost_micros / MILLION, 2) : "–";
  const told = { runs: whole(one.runs), modelCalls: whole(one.calls), tokensIn: words(one.prompt_tokens), tokensOut: words(one.completion_tokens), cost };
  return Object.entries(told).map(([key, words]) => el("td", { class: `number of-${key}` }, words));
}

function usersNode(found) {
  const weigh = found.total.calls ? tokensOf : (one) => one.runs;
  const most = Math.max(1, ...found.users.map(weigh));
  const rows = found.users.map((one) => el("tr", {}, el("th", { scope: "row" }, one.user ?? el("code", { title: say("tokenOnly") }, one.user_id.slice(0, 8)), barNode(weigh(one) / most)), ...cells(one, found.is_priced, short)));
  const further = found.user_count > found.users.length ? el("p", { class: "fact" }, say("furtherUsers", { number: whole(found.user_count - found.users.length) })) : null;
  return el("section", { class: "card chart by-user" }, el("h3", {}, say("byUser")), rows.length ? el("div", { class: "wide" }, el("table", { class: "figures-list" }, headNode("asker"), el("tbody", {}, rows))) : el("p", { class: "fact" }, say("nothing")), further);
}

// 1,234,567 → 1.2 M, as the language writes it.
function short(value) {
  if (value < 10_000) return whole(Math.round(value));
  return new Intl.NumberFormat(currentLanguage() === "vi" ? "vi-VN" : "en-GB", { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

function shortDay(day) {
  return new Date(day).toLocaleDateString(currentLanguage() === "vi" ? "vi-VN" : "en-GB", { day: "numeric", month: "numeric", timeZone: "UTC" });
}
