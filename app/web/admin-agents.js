// Agents: what they read and may call, the file that makes them, and what their steps failed with.

import { momentWords, say, sayIn, whole } from "./admin-words.js";
import { call } from "./client.js";
import { detailsNode, el } from "./dom.js";
import { agentWords, currentLanguage, departmentWords, toolWords } from "./words.js";

export async function showAgents(room) {
  const [{ agents }, offered] = await Promise.all([call("GET", "/admin/agents"), call("GET", "/agents")]);
  const known = new Map(offered.agents.map((one) => [one.name, one]));
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "agents")), el("p", { class: "fact" }, say("agentsHint"))),
    el("ul", { class: "agents" }, agents.map((one) => agentNode(one, known.get(one.name)))));
}

function agentNode(one, offer) {
  const marks = [one.is_remote ? say("isRemote") : null, one.is_built_in ? null : say("isOwn")].filter(Boolean);
  return el("li", { class: "card", "data-agent": one.name },
    el("div", { class: "run-head" }, el("h3", {}, agentWords(one.name), " ", el("code", { class: "fact" }, one.name)), marks.map((mark) => el("span", { class: "tag" }, mark)), failureMark(one.failures)),
    el("p", {}, one.description[currentLanguage()]), offer ? null : el("p", { class: "fact" }, say("notYoursToAsk")),
    el("p", { class: "fact" }, `${say("reads")}: ${one.departments.map(departmentWords).join(", ") || "–"}`),
    el("h4", {}, say("tools")), el("dl", { class: "tool-list" }, one.tools.map((tool) => el("div", {}, el("dt", {}, el("code", {}, tool)), el("dd", {}, currentLanguage() === "vi" ? offer?.tools[tool] ?? toolWords(tool) : toolWords(tool))))),
    failuresNode(one.failures),
    detailsNode(say("fileOf", { name: one.file }), sourceNode(one.source)));
}

function failureMark(failures) {
  const count = failures.reduce((sum, one) => sum + one.count, 0);
  return el("span", { class: "standing", "data-status": count ? "failed" : "ready" }, count ? say("failuresCounted", { number: whole(count) }) : say("noFailures"));
}

function failuresNode(failures) {
  if (!failures.length) return null;
  const heads = ["lastTime", "tool", "errorCode", "times"];
  const rows = failures.map((one) => el("tr", {}, el("th", { scope: "row" }, one.last_at ? momentWords(one.last_at) : "–"), el("td", {}, one.tool ? toolWords(one.tool) : "–"), el("td", {}, el("code", { class: "bad" }, one.code)), el("td", { class: "number" }, whole(one.count))));
  return el("section", { class: "failures" }, el("h4", {}, say("failures")), el("table", { class: "figures-list" }, el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col", class: key === "times" ? "number" : "" }, say(key))))), el("tbody", {}, rows)));
}

// YAML with its keys and remarks told apart.
function sourceNode(source) {
  const code = el("code", {});
  for (const line of source.replace(/\n$/, "").split("\n")) code.append(...lineNodes(line), "\n");
  return el("pre", { class: "yaml", tabindex: 0 }, code);
}

function lineNodes(line) {
  if (/^\s*#/.test(line)) return [el("span", { class: "remark" }, line)];
  const key = /^(\s*(?:- )?)([\w.-]+)(:)(?=\s|$)/.exec(line);
  return key ? [key[1], el("span", { class: "key" }, key[2]), line.slice(key[1].length + key[2].length)] : [line];
}
