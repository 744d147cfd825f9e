// Agents with their tools.

import { say, sayIn } from "./admin-words.js";
import { call } from "./client.js";
import { el } from "./dom.js";
import { agentWords, departmentWords } from "./words.js";

export async function showAgents(room) {
  const { agents } = await call("GET", "/agents");
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "agents")), el("p", { class: "fact" }, say("agentsHint"))),
    el("ul", { class: "agents" }, agents.map(agentNode)));
}

function agentNode({ name, description, tools, departments }) {
  return el("li", { class: "card", "data-agent": name },
    el("h3", {}, agentWords(name), " ", el("code", { class: "fact" }, name)), el("p", {}, description),
    el("p", { class: "fact" }, `${say("reads")}: ${departments.map(departmentWords).join(", ")}`),
    el("h4", {}, say("tools")), el("dl", { class: "tool-list" }, Object.entries(tools).map(([tool, told]) => el("div", {}, el("dt", {}, el("code", {}, tool)), el("dd", {}, told)))));
}
