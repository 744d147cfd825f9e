// The plan card: what is being done, the seed's percentage, and every step from pending to done, tier by tier.

import { el } from "./dom.js";
import { Lanes } from "./lanes.js";
import { agentWords, counted, spanWords, toolWords, word, wordIn } from "./words.js";

const RETRIEVALS = new Set(["rag_tool", "log_tool", "changes_tool"]);
const OWN_CHOICE = "react"; // a step of a deep answer: its agent chooses tools as it goes along, and progress tells how it stands

export class PlanCard {
  constructor() {
    this.steps = new Map(); // node id -> {row, status, agent}
    this.tierCount = 0;
    this.bar = el("progress", { max: 100, value: 5, "aria-label": word("progress") });
    this.line = el("span", { class: "line" }, word("noPlan"));
    this.percentage = el("span", { class: "percentage", "aria-hidden": "true" }, "");
    this.lanes = new Lanes();
    this.tiers = el("ol", { class: "tiers", hidden: true });
    this.node = el("section", { class: "work", "aria-label": word("planLabel") },
      el("div", { class: "work-head" }, this.line, this.percentage, this.bar), this.lanes.node, this.tiers);
  }

  say(text) { this.line.textContent = text; }

  planned(plan) {
    this.steps.clear();
    const tiers = tiersOf(plan);
    this.tierCount = tiers.length;
    this.tiers.replaceChildren(...tiers.map((tier, index) => this.tierNode(tier, index + 1)));
    this.tiers.hidden = tiers.length === 0;
    this.say(word("planStands"));
  }

  tierNode(tier, number) {
    const rows = tier.map((step) => {
      const row = el("li", {}, el("span", { class: "dot" }), el("b", {}, agentWords(step.agent)), el("span", { class: "tool" }, toolWords(step.tool)),
        el("span", { class: "purpose" }, step.message || step.purpose || ""), el("span", { class: "unseen" }));
      this.steps.set(step.nodeId, { row, ...step });
      setStatus(row, step.status ?? "pending");
      return row;
    });
    return el("li", {}, el("span", { class: "tier" }, `${word("tier")} ${number}`), el("ul", { class: "steps" }, rows));
  }

  progress(output) {
    this.bar.value = output.progress_percentage ?? this.bar.value;
    this.percentage.textContent = `${Math.round(this.bar.value)} %`;
    const current = output.current_task;
    this.follow(current, "in_progress");
    this.follow(output.completed_task, "completed");
    this.follow(output.failed_task, "failed");
    const ended = [...this.steps.values()].filter(({ row }) => row.dataset.status !== "pending").length;
    if (output.processing_status === "ready_for_resolution") this.say(word("weighing"));
    else if (current) this.say(word("stepRuns", { number: Math.max(1, ended), total: this.steps.size, step: `${agentWords(current.agent)} · ${toolWords(current.tool)}` }));
  }

  // A step that has no task of its own is found by what it is for.
  follow(told, status) {
    if (told?.tool !== OWN_CHOICE) return;
    const steps = [...this.steps.values()].filter(({ agent, tool, message }) => tool === OWN_CHOICE && agent === told.agent && message === told.purpose);
    const open = steps.find(({ row }) => row.dataset.status !== "completed") ?? steps[0];
    if (open) setStatus(open.row, status);
  }

  began({ node_id: nodeId, agent, tool }) {
    this.mark(nodeId, "in_progress");
    this.lanes.works(agent, tool);
  }

  ended({ node_id: nodeId, agent, status }) {
    this.mark(nodeId, status);
    this.lanes.ended(agent);
  }

  mark(nodeId, status) {
    const step = this.steps.get(nodeId);
    if (step) setStatus(step.row, status);
  }

  // The run is over: what is left of the card is its sum.
  close(outcome, milliseconds) {
    this.bar.value = 100;
    this.bar.hidden = true;
    this.percentage.textContent = "";
    this.node.dataset.ended = outcome;
    this.lanes.close(outcome);
    if (outcome === "cancelled" || outcome === "failed") {
      for (const { row } of this.steps.values()) if (["pending", "in_progress"].includes(row.dataset.status)) setStatus(row, "cancelled");
    }
    const time = milliseconds === undefined ? "" : spanWords(milliseconds);
    const values = { tiers: counted("tierCount", this.tierCount), steps: counted("stepCount", this.steps.size), time };
    const key = this.steps.size ? (time ? "planDone" : "planShort") : time ? "noPlanNeeded" : "noPlanNeededShort";
    this.say(word(key, values));
  }
}

function setStatus(row, status) {
  row.dataset.status = status;
  row.title = wordIn("status", status);
  row.lastElementChild.textContent = `(${wordIn("status", status)})`;
}

// The steps tier by tier, with the names the events use: the n-th retrieval of an agent is `agent#rag:n`.
function tiersOf(plan) {
  const groups = plan.execution_flow?.planning?.tasks ?? [];
  const numbered = groups.flatMap((group) => Object.entries(group)).sort(([a], [b]) => Number(a) - Number(b));
  const tiers = numbered.map(([, steps]) => steps);
  const totals = countBy(tiers.flat().filter((step) => RETRIEVALS.has(step.tool)), (step) => step.agent);
  const done = new Map();
  let chosen = 0;
  return tiers.map((tier) => tier.map((step) => {
    let nodeId = `${step.agent}#${step.tool.replace(/_tool$/, "")}`;
    if (RETRIEVALS.has(step.tool)) {
      const number = (done.get(step.agent) ?? 0) + 1;
      done.set(step.agent, number);
      if (totals.get(step.agent) > 1) nodeId += `:${number}`;
    }
    if (step.tool === OWN_CHOICE) nodeId += `:${(chosen += 1)}`;
    return { ...step, nodeId };
  }));
}

function countBy(items, key) {
  const counts = new Map();
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return counts;
}
