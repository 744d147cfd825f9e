// Documents: the list with its filters, and bringing documents in.

import { openDocument } from "./admin-document.js";
import { choice, departmentChoices, field, knownDepartments } from "./admin-fields.js";
import { arrivalsNode, uploadForm } from "./admin-upload.js";
import { daysWords, momentWords, say, sayIn } from "./admin-words.js";
import { call } from "./client.js";
import { el } from "./dom.js";
import { departmentWords, wordIn } from "./words.js";

const PAGE = 50;
const ANEW_MS = 3000; // documents on their way are looked at again so often
const STATUSES = ["received", "parsing", "chunking", "embedding", "ready", "partial", "failed"];
const FINAL = new Set(["ready", "partial", "failed"]);

export async function showDocuments(room) {
  const departments = await knownDepartments();
  const list = new DocumentList(departments);
  const form = uploadForm(departments, () => list.load());
  list.onNewVersion = form.asVersionOf;
  room.replaceChildren(
    el("div", { class: "heading" }, el("h2", {}, sayIn("part", "documents"))),
    form.node, arrivalsNode(), list.filters, list.node);
  await list.load();
}

class DocumentList {
  constructor(departments) {
    this.departments = departments;
    this.department = choice([["", say("all")], ...departmentChoices(departments)]);
    this.status = choice([["", say("all")], ...STATUSES.map((one) => [one, sayIn("stageName", one)])]);
    this.count = el("p", { class: "fact", role: "status" });
    this.filters = el("div", { class: "filters" }, field("by-department", say("department"), this.department), field("by-status", say("status"), this.status), this.count);
    this.rows = el("tbody");
    this.more = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.load(this.cursor) }, say("more"));
    const heads = ["document", "department", "scope", "status", "days", "version", "changed"];
    this.table = el("table", { class: "listing" }, el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col", class: `of-${key}` }, say(key))))), this.rows);
    this.none = el("p", { hidden: true }, say("noDocuments"));
    this.node = el("div", {}, this.table, this.none, this.more);
    for (const one of [this.department, this.status]) one.addEventListener("change", () => this.load());
  }

  async load(cursor = null) {
    const asked = new URLSearchParams({ limit: PAGE });
    if (this.department.value) asked.set("department", this.department.value);
    if (this.status.value) asked.set("status", this.status.value);
    if (cursor) asked.set("cursor", cursor);
    const turn = this.turn = (this.turn ?? 0) + 1;
    const found = await call("GET", `/documents?${asked}`);
    if (turn !== this.turn) return; // the filters were changed meanwhile
    if (!cursor) this.rows.replaceChildren();
    this.rows.append(...found.documents.map((one) => this.row(one)));
    this.cursor = found.next_cursor;
    this.more.hidden = !this.cursor;
    this.table.hidden = !this.rows.children.length;
    this.none.hidden = !this.table.hidden;
    this.lookAgain(found.documents, cursor);
    this.count.textContent = say("documentCount", { number: this.rows.children.length });
  }

  // Somebody else's documents go through their stages too.
  lookAgain(shown, cursor) {
    clearTimeout(this.waiting);
    if (cursor || shown.every(({ status }) => FINAL.has(status))) return;
    this.waiting = setTimeout(() => { if (this.node.isConnected) this.load().catch(() => {}); }, ANEW_MS);
  }

  row(one) {
    const handlers = { departments: this.departments, onChanged: () => this.load(), onNewVersion: (of) => this.onNewVersion(of) };
    const opens = el("button", { type: "button", class: "source", onclick: () => openDocument(one.document_id, handlers) }, one.title || one.external_id);
    return el("tr", { "data-status": one.status },
      el("th", { scope: "row" }, opens, el("span", { class: "fact id" }, one.external_id), el("span", { class: "fact narrow" }, `${departmentWords(one.department)} · ${wordIn("scope", one.scope)}`)),
      el("td", { class: "of-department" }, departmentWords(one.department)),
      el("td", { class: "of-scope" }, el("span", { class: "tag", "data-scope": one.scope }, wordIn("scope", one.scope))),
      el("td", { class: "of-status" }, el("span", { class: "standing", "data-status": one.status }, sayIn("stageName", one.status))),
      el("td", { class: "of-days" }, daysWords(one.effective_from, one.effective_to)),
      el("td", { class: "of-version number" }, one.current_version === one.latest_version ? one.latest_version : `${one.current_version} → ${one.latest_version}`),
      el("td", { class: "of-changed" }, momentWords(one.updated_at)));
  }
}
