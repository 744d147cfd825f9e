// The agents' lanes: who has the floor, what each is doing, and to whom it was handed over.

import { el } from "./dom.js";
import { icon } from "./icons.js";
import { agentWords, toolWords, word, wordIn } from "./words.js";

export class Lanes {
  constructor() {
    this.lanes = new Map(); // agent -> {node, told}
    this.node = el("ul", { class: "lanes", "aria-label": word("lanes"), hidden: true });
  }

  lane(agent) {
    if (!this.lanes.has(agent)) {
      const told = el("span", { class: "told" }, word("quiet"));
      const node = el("li", { "data-speaking": "no" }, el("span", { class: "voice", "aria-hidden": "true" }, el("i"), el("i"), el("i")), el("b", {}, agentWords(agent)), told);
      this.lanes.set(agent, { node, told });
      this.node.append(node);
      this.node.hidden = false;
    }
    return this.lanes.get(agent);
  }

  speaks(agent, active) {
    const { node, told } = this.lane(agent);
    node.dataset.speaking = active ? "yes" : "done";
    told.textContent = word(active ? "speaking" : "silent");
  }

  works(agent, tool) {
    const { node, told } = this.lane(agent);
    if (node.dataset.speaking === "yes") told.textContent = toolWords(tool);
  }

  ended(agent) {
    const { node, told } = this.lane(agent);
    if (node.dataset.speaking === "yes") told.textContent = word("speaking");
  }

  handover({ from_agent: from, to_agent: to, reason, speaking }) {
    this.lane(from);
    const told = word("handover", { from: agentWords(from), to: agentWords(to) });
    this.node.append(el("li", { class: "handover", title: told }, icon("arrow"), el("span", { class: "unseen" }, `${told} · `), wordIn("handoverReason", reason)));
    for (const [agent, active] of Object.entries(speaking ?? {})) this.speaks(agent, active);
  }

  // The critic refused somebody's work.
  sentBack(agent, reason) {
    const told = word("sentBack", { agent: agentWords(agent) });
    this.node.append(el("li", { class: "handover sent-back", title: reason }, icon("retry"), reason ? `${told}: ${reason}` : told));
    this.node.hidden = false;
  }

  // Who had the floor when a run was stopped or failed has not spoken to the end.
  close(outcome) {
    for (const { node, told } of this.lanes.values()) {
      const isCut = node.dataset.speaking === "yes" && (outcome === "cancelled" || outcome === "failed");
      told.textContent = isCut ? wordIn("status", outcome) : word("silent");
      node.dataset.speaking = isCut ? "cut" : "done";
    }
  }
}
