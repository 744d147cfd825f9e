// The list of conversations, and bringing one back.

import { call } from "./client.js";
import { el } from "./dom.js";
import { icon } from "./icons.js";
import { recentWords, word } from "./words.js";

const $ = (id) => document.getElementById(id);

export class Conversations {
  // `onOpen(id)`, `onRemoved(id)` and `onProblem(error)` are the page's.
  constructor({ onOpen, onRemoved, onProblem }) {
    Object.assign(this, { onOpen, onRemoved, onProblem, cursor: null, current: null });
    $("more-sessions").addEventListener("click", () => this.load(this.cursor));
  }

  async load(cursor = null) {
    try {
      const page = await call("GET", cursor ? `/sessions?cursor=${encodeURIComponent(cursor)}` : "/sessions");
      const items = page.sessions.map((item) => this.itemNode(item));
      if (cursor) $("sessions").append(...items);
      else $("sessions").replaceChildren(...items);
      this.cursor = page.next_cursor;
      $("more-sessions").hidden = !page.next_cursor;
    } catch (error) {
      await this.onProblem(error);
    }
  }

  mark(id) {
    this.current = id;
    for (const item of $("sessions").children) {
      if (item.dataset.id === id) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    }
  }

  itemNode(item) {
    return el("li", { "data-id": item.session_id, "aria-current": item.session_id === this.current ? "true" : null },
      el("button", { type: "button", class: "session", onclick: () => this.onOpen(item.session_id) },
        el("span", {}, item.title || "…"), el("span", { class: "fact" }, recentWords(item.updated_at))),
      el("button", { type: "button", class: "icon small", "aria-label": `${word("remove")}: ${item.title}`, title: word("remove"), onclick: () => this.remove(item) }, icon("bin")));
  }

  async remove(item) {
    if (!confirm(word("removeAsk"))) return;
    try {
      await call("DELETE", `/sessions/${item.session_id}`);
      this.onRemoved(item.session_id);
      await this.load();
    } catch (error) {
      await this.onProblem(error);
    }
  }
}

// [{question, answer, taskId}] of a conversation's messages, oldest first; `answer` is null while there is none.
export function turnsOf(messages) {
  const turns = [];
  for (const message of messages) {
    if (message.role === "user") turns.push({ question: message.content, answer: null, taskId: message.task_id ?? null });
    else if (turns.length) turns[turns.length - 1].answer = message.content;
  }
  return turns;
}
