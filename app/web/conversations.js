// The lists of conversations: one's own, those put away, those of programs; finding one, and what is done with it.

import { call } from "./client.js";
import { announce, el } from "./dom.js";
import { icon } from "./icons.js";
import { recentWords, word } from "./words.js";

const TYPING_MS = 250;
const MOST_CHARS = 200;
const $ = (id) => document.getElementById(id);

export class Conversations {
  // `onOpen(id)`, `onRemoved(id)` and `onProblem(error)` are the page's.
  constructor({ onOpen, onRemoved, onProblem }) {
    Object.assign(this, { onOpen, onRemoved, onProblem, current: null, asked: 0, typing: 0 });
    this.shelves = [
      { list: $("sessions"), more: $("more-sessions"), params: { origin: "page" } },
      { list: $("archived-list"), more: $("more-archived"), params: { archived: "true" }, box: $("archived-sessions") },
      { list: $("api-list"), more: $("more-api"), params: { origin: "api" }, box: $("api-sessions") },
    ];
    for (const shelf of this.shelves) {
      shelf.more.addEventListener("click", () => this.loadShelf(shelf, shelf.cursor));
      shelf.box?.addEventListener("toggle", () => { if (shelf.box.open) this.loadShelf(shelf); });
    }
    $("find-session").addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.load(), TYPING_MS);
    });
  }

  // Everything that is on view, anew.
  async load() {
    this.asked += 1;
    await Promise.all(this.shelves.filter(({ box }) => !box || box.open).map((shelf) => this.loadShelf(shelf)));
  }

  // Nothing of a person stays for the next one.
  clear() {
    this.asked += 1;
    $("find-session").value = "";
    $("none-found").textContent = "";
    for (const { list, box } of this.shelves) {
      list.replaceChildren();
      if (box) box.open = false;
    }
  }

  async loadShelf(shelf, cursor = null) {
    const [asked, text] = [this.asked, $("find-session").value.trim()];
    const params = new URLSearchParams({ ...shelf.params, ...(text && { q: text }), ...(cursor && { cursor }) });
    try {
      const page = await call("GET", `/sessions?${params}`);
      if (asked !== this.asked) return; // something else was typed meanwhile
      const items = page.sessions.map((item) => this.itemNode(item));
      if (cursor) shelf.list.append(...items);
      else shelf.list.replaceChildren(...(items.length || !shelf.box ? items : [el("li", { class: "fact" }, word("noneFound"))]));
      shelf.cursor = page.next_cursor;
      shelf.more.hidden = !page.next_cursor;
      if (!shelf.box) $("none-found").textContent = text && !items.length ? word("noneFound") : "";
    } catch (error) {
      await this.onProblem(error);
    }
  }

  mark(id) {
    this.current = id;
    for (const item of this.shelves.flatMap(({ list }) => [...list.children])) {
      if (item.dataset.id === id) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    }
  }

  itemNode(item) {
    const acts = el("div", { class: "acts", hidden: true, role: "group", "aria-label": `${word("sessionActs")}: ${item.title}` },
      this.actNode(item, "pin", item.pinned ? "unpin" : "pin", { pinned: !item.pinned }),
      this.buttonNode(item, "pen", "rename", () => this.rename(item, node)),
      this.actNode(item, "box", item.archived ? "unarchive" : "archive", { archived: !item.archived }),
      this.buttonNode(item, "bin", "remove", () => this.remove(item)),
      this.exportNode(item, "md", "Markdown"), this.exportNode(item, "json", "JSON"));
    const opener = this.buttonNode(item, "dots", "sessionActs", () => {
      acts.hidden = !acts.hidden;
      opener.setAttribute("aria-expanded", String(!acts.hidden));
    });
    opener.setAttribute("aria-expanded", "false");
    const node = el("li", { "data-id": item.session_id, "aria-current": item.session_id === this.current ? "true" : null },
      el("button", { type: "button", class: "session", onclick: () => this.onOpen(item.session_id) },
        el("span", {}, item.title || "…"), item.snippet && el("span", { class: "fact found" }, item.snippet),
        el("span", { class: "fact" }, item.pinned && `${word("pinned")} · `, recentWords(item.updated_at))),
      opener, acts);
    return node;
  }

  buttonNode(item, sign, name, onclick) {
    return el("button", { type: "button", class: "icon small", "aria-label": `${word(name)}: ${item.title}`, title: word(name), onclick }, icon(sign));
  }

  exportNode(item, kind, name) {
    const told = word("exportAs", { kind: name });
    const keep = async () => {
      try {
        const { exportConversation } = await import("./export.js"); // few need it
        await exportConversation(item.session_id, kind);
        announce(told);
      } catch (error) {
        await this.onProblem(error);
      }
    };
    return el("button", { type: "button", class: "quiet kind", "aria-label": `${told}: ${item.title}`, title: told, onclick: keep }, icon("save"), name);
  }

  actNode(item, sign, name, change) {
    return this.buttonNode(item, sign, name, () => this.change(item, change, word(name)));
  }

  async change(item, change, told) {
    try {
      await call("PATCH", `/sessions/${item.session_id}`, change);
      announce(`${told}: ${change.title ?? item.title}`);
      await this.load();
      this.shelves.flatMap(({ list }) => [...list.children]).find(({ dataset }) => dataset.id === item.session_id)?.querySelector(".session").focus();
    } catch (error) {
      await this.onProblem(error);
    }
  }

  // A box in the place of the title: Enter keeps what stands there, Escape leaves it as it was.
  rename(item, node) {
    const box = el("input", { type: "text", class: "new-title", maxlength: MOST_CHARS, value: item.title, "aria-label": `${word("newTitle")}: ${item.title}` });
    const title = node.querySelector(".session");
    const leave = () => { form.replaceWith(title); title.focus(); };
    const form = el("form", { class: "session", onsubmit: (event) => {
      event.preventDefault();
      if (box.value.trim() && box.value.trim() !== item.title) this.change(item, { title: box.value }, word("rename"));
      else leave();
    } }, box);
    box.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); leave(); } });
    title.replaceWith(form);
    box.select();
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

// [{question, asked, answer, taskId}] of a conversation's messages, oldest first; `answer` is null while there is none.
export function turnsOf(messages) {
  const turns = [];
  for (const message of messages) {
    if (message.role === "user") turns.push({ question: message.content, asked: message.timestamp, answer: null, taskId: message.task_id ?? null });
    else if (turns.length) turns[turns.length - 1].answer = message.content;
  }
  return turns;
}
