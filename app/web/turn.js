// One question and its answer: plan and lanes while it runs, then answer, conflicts, evidence, and what happened.

import { actionsNode } from "./actions.js";
import { approvalNode } from "./approval.js";
import { follow } from "./client.js";
import { conflictCard, weighed } from "./conflict.js";
import { announce, detailsNode, el } from "./dom.js";
import { canBeRead, degradedNode, durabilityNode, evidenceNode, partialNode, verdictNode } from "./evidence.js";
import { asMarkdown } from "./markdown.js";
import { PlanCard } from "./plan.js";
import { numbered, plainOf } from "./numbering.js";
import { problemWords, refusalWords } from "./problems.js";
import { GrowingProse, prose, sentencesOf } from "./prose.js";
import { openSource } from "./reader.js";
import { titlesOf } from "./titles.js";
import { traceNode } from "./trace.js";
import { currentLanguage, stopWords, word } from "./words.js";

export class Turn {
  // `onAsk(text)` asks a follow-up; `acts`: `onRetry()` asks this question again, `onEdit()` takes it into the question box.
  constructor(question, { onAsk, ...acts }) {
    Object.assign(this, { question, onAsk, acts, events: [], taskId: null });
    this.node = el("article", { class: "turn" });
    this.open();
  }

  open() { this.begin(); }

  begin() {
    Object.assign(this, { text: "", quotes: new Map(), told: [], isOver: false, drawing: 0, approval: null, language: currentLanguage() });
    this.work = new PlanCard();
    this.answer = el("div", { class: "answer" });
    this.growing = new GrowingProse(this.answer);
    this.after = el("div", { class: "after" });
    this.node.replaceChildren(el("h2", { class: "asked" }, this.question), this.work.node, this.answer, this.after);
  }

  // Draw everything anew from what was heard: the person chose another language.
  async redraw() {
    const heard = this.events;
    this.events = [];
    this.begin();
    for (const event of heard) await this.take(event);
  }

  async take(event) {
    this.events.push(event);
    this.approval?.remove(); // whatever comes behind it: it was decided
    await this[`on_${event.type}`]?.(event.data);
  }

  on_task_available({ task_id: taskId }) {
    this.taskId = taskId;
    this.work.say(word("waiting"));
  }

  on_start_process({ agent }) { this.work.lanes.speaks(agent, true); }

  on_end_process({ agent }) { this.work.lanes.speaks(agent, false); }

  on_handover(event) { this.work.lanes.handover(event); }

  on_plan_ready({ plan }) { this.work.planned(plan); }

  on_interrupt(event) {
    this.work.planned(event.plan);
    this.work.say(word("planWaits"));
    this.work.unfold();
    this.approval = approvalNode(this.taskId, event);
    this.work.node.after(this.approval);
  }

  on_renavigate_request({ node_id: nodeId, reason }) { this.work.lanes.sentBack(nodeId.split(/[:#]/)[0], reason); }

  on_progress({ output }) {
    this.work.progress(output);
    for (const response of output.agent_responses ?? []) response.queries.forEach((query) => this.keepQuotes(query));
  }

  // What agents took from each address: a citation opens there.
  keepQuotes({ answer, evidence }) {
    const said = answer.split("\n").map(plainOf).flatMap(sentencesOf);
    for (const { url } of evidence) this.quotes.set(url, [...(this.quotes.get(url) ?? []), ...said]);
  }

  on_agent_task(event) { this.work.began(event); }

  on_agent_result(event) { this.work.ended(event); }

  on_redispatched() { this.say(""); }

  on_conflict_resolved({ conflicts }) { this.told = conflicts; }

  on_text_delta({ text }) {
    if (!this.text) { this.work.say(word("writing")); this.writes(); }
    this.text += text;
    // Once a frame at most, however many pieces come.
    if (!this.drawing) this.drawing = requestAnimationFrame(() => this.say(this.text));
  }

  // The answer stands first; what was done for it is a line below.
  writes() {
    this.work.fold();
    this.answer.after(this.work.node);
  }

  say(text) {
    cancelAnimationFrame(this.drawing);
    Object.assign(this, { text, drawing: 0 });
    this.growing.write(text);
  }

  lost() { if (!this.isOver) this.work.say(word("lost")); }

  async on_final_report({ answer }) {
    this.writes();
    this.say(answer.answer);
    const [conflicts, titles] = await Promise.all([weighed(this.taskId, this.told, answer.flow_action), titlesOf(answer.evidence)]);
    const cited = numbered(answer.answer, answer.evidence, this.quotes, titles);
    const open = (number, quotes) => this.openEvidence(answer, titles, number, quotes);
    const addresses = new Set((answer.evidence ?? []).map(({ url }) => url));
    this.answer.replaceChildren(prose(cited.text, { addresses, onCite: (number, sentence) => open(number, cited.behind.get(sentence) ?? [sentence]) }));
    this.close(answer.outcome, answer.execution_metadata?.total_duration_ms, traceNode(answer.flow_action));
    const markdown = () => asMarkdown(this.question, answer, conflicts, titles);
    this.show(
      verdictNode(answer.outcome, answer),
      durabilityNode(answer),
      this.work.node,
      ...conflicts.map((conflict) => conflictCard(conflict, (url, title, quote) => openSource(url, [quote].filter(Boolean), title))),
      evidenceNode(answer.evidence, titles, open),
      actionsNode(this.taskId, { markdown, ...this.acts }),
      this.followUpsNode(answer.follow_up_questions),
      answer.reasoning ? detailsNode(word("reasons"), el("p", {}, answer.reasoning)) : null,
      degradedNode(answer));
  }

  on_task_failed({ answer }) {
    this.close("failed", undefined, traceNode(answer.flow_action));
    this.say(answer.fallback_answer || word("failed"));
    this.show(verdictNode("failed", answer), durabilityNode(answer), el("p", { class: "error" }, `${refusalWords(answer.error_code, answer.error_message)} (${answer.error_code})`),
      this.work.node,
      actionsNode(this.taskId, this.acts), partialNode(answer.partial_results));
  }

  on_task_cancelled({ reason }) {
    this.close("cancelled");
    this.show(verdictNode("cancelled", null), el("p", { class: "stopped" }, stopWords(reason)), this.work.node, actionsNode(null, this.acts));
  }

  refused(message) {
    this.close("refused");
    this.work.node.remove(); // nothing was done
    this.show(el("p", { class: "error", role: "alert" }, message), actionsNode(null, this.acts));
  }

  close(outcome, milliseconds, trace) {
    this.isOver = true;
    this.node.dataset.outcome = outcome;
    this.work.close(outcome, milliseconds, trace);
  }

  show(...nodes) { this.after.replaceChildren(...nodes.filter(Boolean)); }

  // Open evidence `number` (from 1) at the sentences it is cited for, or at all that was taken from it.
  openEvidence(answer, titles, number, quotes = null) {
    const item = answer.evidence?.[number - 1];
    if (!item) return;
    if (!canBeRead(item)) {
      this.node.querySelectorAll(".evidence li")[number - 1]?.scrollIntoView({ block: "center" });
      return;
    }
    openSource(item.url, quotes ?? this.quotes.get(item.url) ?? [], titles.get(item.url) ?? "");
  }

  followUpsNode(questions) {
    if (!questions?.length) return null;
    const chips = questions.map((question) => el("button", { type: "button", class: "chip", onclick: () => this.onAsk(question) }, question));
    return el("div", { class: "chips", role: "group", "aria-label": word("followUps") }, chips);
  }
}

// A turn of an earlier conversation shows its text at once; plan, evidence and trace come from its journal on demand.
export class PastTurn extends Turn {
  constructor(question, answer, taskId, handlers) {
    super(question, handlers);
    Object.assign(this, { taskId, said: answer });
    this.node.classList.add("past");
    this.fold();
  }

  open() {} // folded at first: there may be hundreds

  fold() {
    const more = el("button", { type: "button", class: "quiet more", onclick: () => this.unfold() }, word("details"));
    this.answer = el("div", { class: "answer" }, this.said === null ? el("p", { class: "fact" }, word("noAnswer")) : prose(this.said));
    this.node.replaceChildren(el("h2", { class: "asked" }, this.question), this.answer, this.taskId ? more : "");
  }

  // One that was answered is drawn at once; one that was not may still be running, and is followed.
  async unfold() {
    const events = [];
    try {
      for await (const event of follow(this.taskId, () => {})) {
        events.push(event);
        if (this.said === null) await this.draw([event], events.length === 1);
      }
    } catch (error) {
      announce(problemWords(error));
      return;
    }
    if (this.said !== null) await this.draw(events, true);
  }

  async draw(events, isFirst) {
    if (isFirst) {
      this.node.classList.remove("past");
      this.begin();
    }
    for (const event of events) await this.take(event);
  }

  async redraw() {
    if (this.node.classList.contains("past")) this.fold();
    else await super.redraw();
  }
}
