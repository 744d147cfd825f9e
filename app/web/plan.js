// The plan card: what is being done, the seed's percentage, and every step from pending to done, tier by tier. It is one line
// that opens: by itself while a run takes long, by hand at any time; it folds again when the answer begins.

import { el } from "./dom.js";
import { Lanes } from "./lanes.js";
import { agentWords, counted, shortSpan, toolWords, word, wordIn } from "./words.js";

const RETRIEVALS = new Set(["rag_tool", "log_tool", "changes_tool"]);
const LONG_MS = 700; // a run that takes no longer shows its one line alone
const LEADER = "orchestrator"; // part of every plan
const OWN_CHOICE = "react"; // a step of a deep answer: its agent chooses tools as it goes along, and progress tells how it stands

export class PlanCard {
  constructor() {
    this.steps = new Map(); // node id -> {row, status, agent}
    this.tierCount = 0;
    this.bar = el("progress", { max: 100, value: 5, "aria-label": word("progress") });
    this.line = el("span", { class: "line" }, word("noPlan"));
    this.percentage = el("span", { class: "percentage", "aria-hidden": "true" }, "");
    this.lanes = new Lanes();
    this.caption = el("p", { class: "fact caption", hidden: true });
    this.tiers = el("ol", { class: "tiers", hidden: true });
    this.body = el("div", { class: "work-body" }, this.caption, this.lanes.node, this.tiers);
    this.isChosen = false; // whether the person opened or closed it
    this.node = el("details", { class: "work", "aria-label": word("planLabel") },
      el("summary", { class: "work-head", onclick: () => { this.isChosen = true; } }, this.line, this.percentage, this.bar), this.body);
    this.waits = setTimeout(() => this.unfold(), LONG_MS);
  }

  unfold() { if (!this.isChosen) this.node.open = true; }

  fold() {
    clearTimeout(this.waits);
    if (!this.isChosen) this.node.open = false;
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

  // The run is over: what is left of the card is who worked and how long; behind it plan, lanes and `trace`.
  close(outcome, milliseconds, trace = null) {
    this.fold();
    if (trace) this.body.append(trace);
    this.bar.value = 100;
    this.bar.hidden = true;
    this.percentage.textContent = "";
    this.node.dataset.ended = outcome;
    this.lanes.close(outcome);
    if (outcome === "cancelled" || outcome === "failed") {
      for (const { row } of this.steps.values()) if (["pending", "in_progress"].includes(row.dataset.status)) setStatus(row, "cancelled");
    }
    const steps = { tiers: counted("tierCount", this.tierCount), steps: counted("stepCount", this.steps.size) };
    this.caption.textContent = word("planShort", steps);
    this.caption.hidden = !this.steps.size;
    const agents = [...new Set([...this.steps.values()].map(({ agent }) => agent))].filter((agent) => agent !== LEADER).map(agentWords);
    const time = milliseconds === undefined ? null : shortSpan(milliseconds);
    this.say([...(this.steps.size ? agents : [word("noPlanNeeded")]), time].filter(Boolean).join(" · "));
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
