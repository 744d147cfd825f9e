// One question and its answer: progress and plan while it runs, then answer, evidence, reasons and what happened.

import { el, link, prose } from "./dom.js";
import { dateWords, percent, word, wordIn } from "./words.js";

const RETRIEVALS = new Set(["rag_tool", "log_tool"]);

export class Turn {
  constructor(question, onFollowUp) {
    this.onFollowUp = onFollowUp;
    this.steps = new Map();
    this.bar = el("progress", { max: 100, value: 5, "aria-label": word("plan") });
    this.line = el("span", { class: "progress-line" }, word("noPlan"));
    this.plan = el("ol", { class: "tiers" });
    this.work = el("details", { class: "work", open: true }, el("summary", {}, this.line, this.bar), this.plan);
    this.answer = el("div", { class: "answer" });
    this.text = "";
    this.after = el("div", { class: "after" });
    this.node = el("article", { class: "turn" }, el("p", { class: "asked" }, question), this.work, this.answer, this.after);
  }

  take(event) {
    const handler = this[`on_${event.type}`];
    if (handler) handler.call(this, event.data);
  }

  on_plan_ready({ plan }) {
    this.steps.clear();
    this.plan.replaceChildren(...tiersOf(plan).map((tier, index) => this.tierNode(tier, index + 1)));
  }

  tierNode(tier, number) {
    const list = el("ul", { class: "steps" });
    for (const step of tier) {
      const status = step.status ?? "pending";
      const mark = el("span", { class: "mark", "data-status": status }, wordIn("status", status));
      this.steps.set(step.nodeId, mark);
      list.append(el("li", {}, el("b", {}, step.agent), " · ", el("code", {}, step.tool), " ", mark, el("br"), step.purpose || step.message));
    }
    return el("li", {}, el("span", { class: "tier" }, `${word("tier")} ${number}`), list);
  }

  on_progress({ output }) {
    this.bar.value = output.progress_percentage ?? this.bar.value;
    this.line.textContent = `${output.progress_message ?? ""} · ${Math.round(this.bar.value)} %`;
  }

  on_agent_task({ node_id: nodeId }) { this.mark(nodeId, "in_progress"); }

  on_agent_result({ node_id: nodeId, status }) { this.mark(nodeId, status); }

  mark(nodeId, status) {
    const mark = this.steps.get(nodeId);
    if (!mark) return;
    mark.dataset.status = status;
    mark.textContent = wordIn("status", status);
  }

  on_redispatched() { this.say(""); }

  on_text_delta({ text }) { this.say(this.text + text); }

  say(text) {
    this.text = text;
    this.answer.replaceChildren(prose(text));
  }

  lost() { this.line.textContent = word("lost"); }

  on_final_report({ answer }) {
    this.close(answer.outcome);
    this.say(answer.answer);
    this.after.replaceChildren(...[
      outcomeNode(answer.outcome, answer.confidence_score),
      evidenceNode(answer.evidence),
      conflictsNode(this.conflicts),
      answer.reasoning ? detailsNode("reasons", el("p", {}, answer.reasoning)) : null,
      lesserNode(answer.execution_metadata),
      flowNode(answer.flow_action),
      this.followUpsNode(answer.follow_up_questions),
    ].filter(Boolean));
  }

  on_conflict_resolved({ conflicts }) { this.conflicts = conflicts; }

  on_task_failed({ answer }) {
    this.close("failed");
    this.say(answer.fallback_answer || word("failed"));
    const partial = Object.entries(answer.partial_results ?? {}).map(([agent, result]) =>
      el("li", {}, el("b", {}, agent), `: ${result.answer ?? result.error ?? result.status}`));
    this.after.replaceChildren(...[
      outcomeNode("failed", null),
      el("p", { class: "error" }, `${answer.error_message} (${answer.error_code})`),
      partial.length ? detailsNode("partial", el("ul", {}, ...partial), true) : null,
      flowNode(answer.flow_action),
    ].filter(Boolean));
  }

  on_task_cancelled() {
    this.close("cancelled");
    this.after.replaceChildren(outcomeNode("cancelled", null), el("p", {}, word("stopped")));
  }

  refused(message) {
    this.close("refused");
    this.after.replaceChildren(el("p", { class: "error", role: "alert" }, message));
  }

  close(outcome) {
    this.node.dataset.outcome = outcome;
    this.work.open = false;
    this.bar.value = 100;
    this.line.textContent = word("plan");
    this.work.hidden = this.steps.size === 0;
  }

  followUpsNode(questions) {
    if (!questions?.length) return null;
    const chips = questions.map((question) =>
      el("button", { type: "button", class: "chip", onclick: () => this.onFollowUp(question) }, question));
    return el("div", { class: "chips", "aria-label": word("followUps") }, ...chips);
  }
}

// A turn of an earlier conversation: only its text is kept in the list of messages.
export function pastTurn(question, answer) {
  return el("article", { class: "turn past" }, el("p", { class: "asked" }, question), el("div", { class: "answer" }, prose(answer ?? "…")));
}

// The steps tier by tier, with the names the events use: the n-th retrieval of an agent is `agent#rag:n`.
function tiersOf(plan) {
  const groups = plan.execution_flow?.planning?.tasks ?? [];
  const numbered = groups.flatMap((group) => Object.entries(group)).sort(([a], [b]) => Number(a) - Number(b));
  const tiers = numbered.map(([, steps]) => steps);
  const totals = countBy(tiers.flat().filter((step) => RETRIEVALS.has(step.tool)), (step) => step.agent);
  const done = new Map();
  return tiers.map((tier) => tier.map((step) => {
    let nodeId = `${step.agent}#${step.tool.replace(/_tool$/, "")}`;
    if (RETRIEVALS.has(step.tool)) {
      const number = (done.get(step.agent) ?? 0) + 1;
      done.set(step.agent, number);
      if (totals.get(step.agent) > 1) nodeId += `:${number}`;
    }
    return { ...step, nodeId };
  }));
}

function countBy(items, key) {
  const counts = new Map();
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return counts;
}

function outcomeNode(outcome, confidence) {
  const told = confidence === null || outcome === "chitchat" ? "" : ` · ${word("confidence")} ${percent(confidence)}`;
  return el("p", { class: "outcome", "data-outcome": outcome }, wordIn("outcome", outcome) + told);
}

function evidenceNode(evidence) {
  if (!evidence?.length) return null;
  const items = evidence.map((item) => el("li", {},
    link(item.url, titleOf(item.url)),
    el("span", { class: "tag", "data-scope": item.scope }, wordIn("scope", item.scope)),
    el("span", { class: "tag" }, item.source_type),
    el("span", { class: "fact" }, `${dateWords(item.created_at)} · ${word("relevance")} ${percent(item.relevance_score)}`)));
  return el("section", { class: "evidence" }, el("h3", {}, `${word("evidence")} (${evidence.length})`), el("ol", {}, ...items));
}

function titleOf(url) {
  try {
    const { hostname, pathname } = new URL(url);
    return hostname + decodeURIComponent(pathname);
  } catch {
    return url;
  }
}

const RULES = ["later_version", "validity"];  // what decides instead of the scores

function conflictsNode(conflicts) {
  if (!conflicts?.length) return null;
  const side = ({ title, claim, score, factors }) => el("div", {},
    el("b", {}, title), claim ? `: ${claim} ` : " ",
    el("span", { class: "fact" }, `${score.toFixed(2)}: ${Object.entries(factors).map(([name, value]) => `${name} ${value.toFixed(2)}`).join(" · ")}`));
  const items = conflicts.map(({ winner, loser, decided, rule }) => el("li", {},
    side(winner), el("em", {}, decided ? `${word("wins")} ${word("over")}` : `(${word("undecided")})`), side(loser),
    RULES.includes(rule) ? el("span", { class: "fact" }, word(rule)) : null));
  return detailsNode("conflicts", el("ul", {}, ...items));
}

// What was done in a lesser way than planned, and why: a model that failed, a budget that was spent.
function lesserNode(metadata) {
  const notes = metadata?.degraded ?? [];
  return notes.length ? detailsNode("degraded", el("ul", {}, ...notes.map((note) => el("li", {}, el("code", {}, note))))) : null;
}

function flowNode(actions) {
  if (!actions?.length) return null;
  const longest = Math.max(1, ...actions.map((action) => action.duration_ms ?? 0));
  const rows = actions.map((action) => el("li", { "data-status": action.status },
    el("code", {}, action.node_id),
    el("meter", { min: 0, max: longest, value: action.duration_ms ?? 0, "aria-hidden": "true" }),
    el("span", { class: "fact" }, action.duration_ms === undefined ? action.status : `${action.duration_ms} ms · ${action.status}`)));
  return detailsNode("flow", el("ol", { class: "flow" }, ...rows));
}

function detailsNode(title, body, open = false) {
  return el("details", { open }, el("summary", {}, word(title)), body);
}
