// Tasks of the whole company and the queues they wait in, as they are now: figures, stopping one, having one done anew.

import { choice, field, reasonOf, text } from "./admin-fields.js";
import { askerNode, endedNode, openFacts, statusNode } from "./admin-task.js";
import { momentWords, say, sayIn, spanSince, whole } from "./admin-words.js";
import { call } from "./client.js";
import { announce, el } from "./dom.js";
import { agentWords, spanWords, wordIn } from "./words.js";

const PAGE = 50;
const MOST = 100; // what is looked at anew; further pages stay as they were
const ANEW_MS = 3000;
const PAUSE_MS = 300; // a name that is still being written asks nothing
const STATUSES = ["pending", "in_progress", "completed", "failed", "cancelled"];
const KINDS = ["chat", "ingest", "step"];
const ALWAYS = ["chat", "ingest"]; // queues that are shown also when nothing waits

export async function showTasks(room) {
  const list = new TaskList();
  await list.load();
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "tasks")), el("p", { class: "fact" }, say("tasksHint"))),
    list.queues, list.filters, list.node);
  list.lookAgain();
}

class TaskList {
  constructor() {
    this.shown = new Map(); // task id → {told, node}
    this.queues = el("dl", { class: "tiles queues" });
    this.status = choice([["", say("all")], ...STATUSES.map((one) => [one, wordIn("status", one)])]);
    this.kind = choice([["", say("wholeRuns")], ...KINDS.map((one) => [one, sayIn("kindName", one)])]);
    this.user = text("", { maxlength: 100, spellcheck: "false" });
    this.count = el("p", { class: "fact", role: "status" });
    this.told = el("p", { class: "error", role: "alert", hidden: true });
    this.filters = el("div", { class: "filters" }, field("by-status", say("status"), this.status), field("by-kind", say("taskKind"), this.kind), field("by-user", say("asker"), this.user), this.count);
    this.rows = el("tbody");
    this.more = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.load(this.cursor) }, say("more"));
    const heads = ["when", "asker", "taskKind", "status", "work", "ended", "actions"];
    this.table = el("table", { class: "listing tasks" }, el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col", class: `of-${key}` }, say(key))))), this.rows);
    this.none = el("p", { hidden: true }, say("noTasks"));
    this.node = el("div", {}, this.told, this.table, this.none, this.more);
    for (const one of [this.status, this.kind]) one.addEventListener("change", () => this.begin());
    this.user.addEventListener("input", () => { clearTimeout(this.typing); this.typing = setTimeout(() => this.begin(), PAUSE_MS); });
  }

  begin() {
    this.shown.clear();
    this.rows.replaceChildren();
    return this.load().catch((error) => this.refused(error));
  }

  // Everybody's tasks change all the time; what is read or focused stays where it is.
  lookAgain() {
    this.waiting = setTimeout(async () => {
      if (!this.node.isConnected) return;
      if (!document.hidden) await this.load().catch((error) => this.refused(error));
      this.lookAgain();
    }, ANEW_MS);
  }

  async load(cursor = null) {
    const asked = new URLSearchParams({ limit: cursor ? PAGE : Math.min(MOST, Math.max(PAGE, this.shown.size)) });
    for (const name of ["status", "kind", "user"]) if (this[name].value.trim()) asked.set(name, this[name].value.trim());
    if (cursor) asked.set("cursor", cursor);
    const turn = this.turn = (this.turn ?? 0) + 1;
    const [found, { lines }] = await Promise.all([call("GET", `/admin/tasks?${asked}`), call("GET", "/admin/queues")]);
    if (turn !== this.turn) return; // the filters were changed meanwhile
    this.told.hidden = true;
    this.queues.replaceChildren(...queueNodes(lines));
    if (!cursor) this.forget(found);
    this.place(found.tasks, cursor !== null);
    if (cursor || this.shown.size <= found.tasks.length) this.cursor = found.next_cursor;
    this.more.hidden = !this.cursor;
    this.table.hidden = !this.shown.size;
    this.none.hidden = !this.table.hidden;
    this.count.textContent = say("taskCount", { number: this.shown.size });
  }

  // What matches no more, or was erased, goes; rows of further pages stay.
  forget({ tasks, next_cursor: further }) {
    const there = new Set(tasks.map((told) => told.task_id));
    const end = further ? tasks.at(-1).created_at : "";
    for (const [id, { told, node }] of this.shown) {
      if (there.has(id) || told.created_at < end) continue;
      node.remove();
      this.shown.delete(id);
    }
  }

  // Rows that are as they were are not touched, so that neither the focus nor a selection is lost.
  place(tasks, atEnd) {
    let at = atEnd ? null : this.rows.firstElementChild;
    for (const told of tasks) {
      const known = this.shown.get(told.task_id);
      const same = known && JSON.stringify(known.told) === JSON.stringify(told);
      const node = same ? known.node : this.row(told);
      if (known && !same) {
        const focused = known.node.contains(document.activeElement) ? document.activeElement.dataset.does : null;
        if (at === known.node) at = node;
        known.node.replaceWith(node);
        if (focused) (node.querySelector(`[data-does="${focused}"]`) ?? node.querySelector("button")).focus();
      }
      if (at === node) at = at.nextElementSibling;
      else this.rows.insertBefore(node, at);
      this.shown.set(told.task_id, { told, node });
    }
    for (const { node } of this.shown.values()) ageOf(node);
  }

  row(one) {
    const opens = el("button", { type: "button", class: "source", "data-does": "open", onclick: () => openFacts(one) }, momentWords(one.created_at));
    return el("tr", { "data-task": one.task_id, "data-status": one.status },
      el("th", { scope: "row" }, opens, el("span", { class: "fact id" }, one.task_id.slice(0, 8))),
      el("td", { class: "of-asker" }, askerNode(one)),
      el("td", { class: "of-taskKind" }, sayIn("kindName", one.kind), el("span", { class: "fact side-facts" }, one.agent ? agentWords(one.agent) : sayIn("modeName", one.mode))),
      el("td", { class: "of-status" }, statusNode(one)),
      el("td", { class: "of-work" }, workNode(one)),
      el("td", { class: "of-ended" }, endedNode(one)),
      el("td", { class: "of-actions" }, this.actions(one)));
  }

  actions(one) {
    const act = (verb, question, done) => async (event) => {
      if (!confirm(say(question, { user: one.user ?? one.user_id }))) return;
      event.target.disabled = true;
      try {
        await call("POST", `/admin/tasks/${one.task_id}/${verb}`);
        announce(say(done));
        await this.load();
      } catch (error) {
        this.refused(error);
        event.target.disabled = false;
      }
    };
    return [
      one.may_be_stopped ? el("button", { type: "button", class: "plain danger", "data-does": "stop", onclick: act("cancel", "stopAsk", "stopDone") }, say("stopIt")) : null,
      one.may_be_retried ? el("button", { type: "button", class: "plain", "data-does": "retry", onclick: act("retry", "retryAsk", "retryDone") }, say("retryIt")) : null,
    ];
  }

  refused(error) {
    this.told.textContent = reasonOf(error);
    this.told.hidden = false;
  }
}

function queueNodes(lines) {
  const names = [...ALWAYS, ...lines.map(({ line }) => line).filter((line) => !ALWAYS.includes(line))];
  return names.map((name) => {
    const { waiting = 0, running = 0, oldest = null } = lines.find(({ line }) => line === name) ?? {};
    return el("div", { class: "card queue", "data-line": name, "data-waits": String(waiting > 0) }, el("dt", {}, say("queueOf", { name: ALWAYS.includes(name) ? sayIn("queueName", name) : agentWords(name) })),
      el("dd", {}, whole(waiting), " ", el("small", {}, say("waitingNow")), el("span", { class: "aside" }, whole(running), " ", el("small", {}, say("withWorkers")))),
      el("dd", { class: "fact" }, oldest ? say("oldestWaits", { time: spanSince(oldest) }) : say("nobodyWaits")));
  });
}

// Who works on it, and how far it is; the age goes on while it is looked at.
function workNode(one) {
  const age = el("span", { class: "number age", "data-from": one.created_at, "data-to": one.completed_at });
  const steps = one.steps ? say("stepsDone", { done: one.steps_done, number: one.steps }) : null;
  const tries = one.attempt > 1 ? say("attemptNumber", { number: one.attempt }) : null;
  return [age, el("span", { class: "fact side-facts" }, [tries, steps].filter(Boolean).join(" · "))];
}

function ageOf(row) {
  for (const node of row.querySelectorAll(".age")) {
    node.textContent = node.dataset.to ? spanWords(new Date(node.dataset.to) - new Date(node.dataset.from)) : spanSince(node.dataset.from);
  }
}
