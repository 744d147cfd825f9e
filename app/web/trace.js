// What happened, as a timeline: one bar a node of `flow_action`, beginning when what it waited for had ended.
// The trace tells whole seconds, and most runs take less: order and waiting come from `depends_on` and the durations.

import { detailsNode, el } from "./dom.js";
import { agentWords, spanWords, toolWords, word, wordIn } from "./words.js";

const STAGES = new Set(["researcher", "expert"]); // what encloses the steps told before it
const LEAST_WIDTH = 0.8; // percent: a bar of no duration is still seen

export function traceNode(actions) {
  if (!actions?.length) return null;
  const placed = schedule(actions.filter(({ type }) => type !== "orchestrator")); // it only says who is next
  const whole = Math.max(1, ...placed.map(({ end }) => end));
  const rows = placed.map(({ action, start, end }) => rowNode(action, start / whole, (end - start) / whole));
  const axis = el("li", { class: "axis", "aria-hidden": "true" }, el("span", {}, ""), el("span", { class: "scale" }, el("i", {}, "0"), el("i", {}, spanWords(whole / 2)), el("i", {}, spanWords(whole))), el("span", {}, ""));
  return detailsNode(word("trace"), [el("p", { class: "fact" }, word("traceHint")), el("ol", { class: "gantt" }, axis, rows)]);
}

// [{action, start, end}] in milliseconds from the beginning. Steps run side by side unless one waits for another; those of
// a deep answer one after the other, within the stage that is told behind them.
export function schedule(actions) {
  const ends = new Map();
  const isDeep = actions.some(({ type }) => STAGES.has(type));
  let barrier = 0; // when the last node that is no step had ended
  let latest = 0;
  return actions.map((action) => {
    const waited = (action.depends_on ?? []).map((nodeId) => ends.get(nodeId) ?? 0);
    const isStep = action.type === "agent_tool";
    const begins = isStep ? (isDeep ? latest : barrier) : STAGES.has(action.type) ? barrier : latest;
    const start = Math.max(begins, ...waited);
    const end = start + (action.duration_ms ?? 0);
    ends.set(action.node_id, end);
    latest = Math.max(latest, end);
    if (!isStep) barrier = latest;
    return { action, start, end };
  });
}

function rowNode(action, start, share) {
  const piece = el("span", { class: "piece" });
  piece.style.left = `${Math.min(100 - LEAST_WIDTH, 100 * start).toFixed(2)}%`;
  piece.style.width = `${Math.max(LEAST_WIDTH, 100 * share).toFixed(2)}%`;
  const waits = action.depends_on?.length ? word("waitsFor", { steps: action.depends_on.join(", ") }) : "";
  const time = action.duration_ms === undefined ? "" : spanWords(action.duration_ms);
  return el("li", { "data-status": action.status, "data-type": action.type, title: [action.node_id, waits].filter(Boolean).join(" · ") },
    el("span", { class: "node" }, nodeWords(action)),
    el("span", { class: "track", "aria-hidden": "true" }, piece),
    el("span", { class: "fact" }, [time, action.metadata?.approved === false ? word("refusedWork") : wordIn("status", action.status)].filter(Boolean).join(" · ")));
}

function nodeWords(action) {
  if (action.type !== "agent_tool") {
    const [node, of] = action.node_id.split(":");
    const told = wordIn("node", node);
    return [told === node ? agentWords(node) : told, of && agentWords(of)].filter(Boolean).join(" · ");
  }
  const number = /:(\d+)$/.exec(action.node_id)?.[1];
  return [agentWords(action.agent), toolWords(action.tool) + (number ? ` ${number}` : "")].join(" · ");
}
