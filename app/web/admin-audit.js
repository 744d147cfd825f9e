// The audit: who did what, newest first, and whether its chain holds. Ids, rights and names of fields; no text of anybody.

import { choice, day, field, reasonOf, tell, text } from "./admin-fields.js";
import { momentWords, say, sayIn, whole } from "./admin-words.js";
import { call } from "./client.js";
import { announce, el } from "./dom.js";
import { currentLanguage } from "./words.js";

const PAGE = 50;
const PAUSE_MS = 300; // a name that is still being written asks nothing
const ACTS = [
  "question_asked", "question_ended", "read_task", "stop_task", "retry_task", "approve_plan", "refuse_plan", "signed_in", "signed_out", "sign_in_refused", "invited", "password_set", "codes_on", "codes_off",
  "user_added", "user_changed", "user_removed", "data_erased", "key_made", "key_rotated", "key_revoked",
  "document_brought_in", "document_changed", "document_deleted", "audit_removed",
];

export async function showAudit(room) {
  const list = new Acts();
  await list.begin();
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "audit")), el("p", { class: "fact" }, say("auditHint"))), chainNode(), list.filters, list.node);
}

// The server computes every hash anew: what it finds is told as it was found, with the hash to keep elsewhere.
function chainNode() {
  const told = el("p", { class: "fact", role: "status" });
  const check = async () => {
    button.disabled = true;
    tell(told, say("chainWalks"));
    try {
      const found = await call("GET", "/audit/chain");
      card.dataset.holds = String(found.holds);
      if (found.holds) {
        tell(told, say(found.removed ? "chainHoldsSince" : "chainHolds", { rows: whole(found.rows), row: whole(found.head_seq), removed: whole(found.removed), moment: momentWords(new Date().toISOString()) }));
        told.append(el("code", { class: "hash" }, found.head_hash));
      } else tell(told, say("chainBroken", { row: whole(found.row), problem: found.problem }), true);
      announce(told.textContent);
    } catch (error) { tell(told, reasonOf(error), true); }
    button.disabled = false;
  };
  const button = el("button", { type: "button", onclick: check }, say("chainCheck"));
  const card = el("section", { class: "card chain" }, el("h3", {}, say("chain")), el("p", { class: "fact" }, say("chainHint")), el("div", { class: "doing" }, button, told));
  return card;
}

class Acts {
  constructor() {
    this.people = new Map(); // id → name
    this.action = choice([["", say("all")], ...ACTS.map((one) => [one, sayIn("act", one)]).sort(([, one], [, other]) => one.localeCompare(other, currentLanguage()))]);
    this.user = text("", { maxlength: 100, spellcheck: "false" });
    [this.from, this.to] = [day(), day()];
    this.count = el("p", { class: "fact", role: "status" });
    this.told = el("p", { class: "error", role: "alert", hidden: true });
    this.filters = el("div", { class: "filters" }, field("by-act", say("act_"), this.action), field("by-person", say("actor"), this.user), field("since", say("sinceDay"), this.from), field("until", say("untilDay"), this.to), this.count);
    this.rows = el("tbody");
    this.more = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.load(this.cursor).catch((error) => this.refused(error)) }, say("more"));
    const heads = ["number", "when", "actor", "act_", "target", "details"];
    this.table = el("table", { class: "listing audit" }, el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col", class: `of-${key}` }, say(key))))), this.rows);
    this.none = el("p", { hidden: true }, say("noActs"));
    this.node = el("div", {}, this.told, this.table, this.none, this.more);
    const again = () => this.load().catch((error) => this.refused(error));
    for (const one of [this.action, this.from, this.to]) one.addEventListener("change", again);
    this.user.addEventListener("input", () => { clearTimeout(this.typing); this.typing = setTimeout(again, PAUSE_MS); });
  }

  // Names of people, as far as one page of them goes; of others the id is shown.
  async begin() {
    const known = await call("GET", "/users?limit=100");
    this.people = new Map(known.users.map((one) => [one.user_id, one.name]));
    await this.load();
  }

  async load(cursor = null) {
    const asked = new URLSearchParams({ limit: PAGE, ...(cursor && { cursor }) });
    const wanted = { action: this.action.value, user: this.user.value.trim(), from: startOf(this.from.value), to: startOf(this.to.value, 1) };
    for (const [name, value] of Object.entries(wanted)) if (value) asked.set(name, value);
    const turn = this.turn = (this.turn ?? 0) + 1;
    const { entries, next_cursor: further } = await call("GET", `/audit?${asked}`);
    if (turn !== this.turn) return; // the filters were changed meanwhile
    this.told.hidden = true;
    if (!cursor) this.rows.replaceChildren();
    this.rows.append(...entries.map((one) => this.row(one)));
    this.cursor = further;
    this.more.hidden = !further;
    this.table.hidden = !this.rows.childElementCount;
    this.none.hidden = !this.table.hidden;
    this.count.textContent = say("actCount", { number: whole(this.rows.childElementCount) });
  }

  row(one) {
    const cells = {
      when: momentWords(one.created_at), actor: /^[0-]+$/.test(one.user_id) ? say("operator") : this.nameNode(one.user_id, one.user),
      act_: sayIn("act", one.action), target: this.nameNode(one.target), details: this.detailNodes(one.details),
    };
    return el("tr", { "data-act": one.action, "data-target": one.target }, el("th", { scope: "row", class: "of-number" }, whole(one.seq)),
      Object.entries(cells).map(([key, told]) => el("td", { class: `of-${key}` }, told)));
  }

  nameNode(id, name = this.people.get(id)) {
    return name ? el("b", { title: id }, name) : el("code", { class: "id", title: id }, id.slice(0, 8));
  }

  detailNodes(details) {
    return Object.entries(details).map(([name, value]) => el("span", { class: "detail" }, `${name}: `, Array.isArray(value) && value.length ? value.map((one) => this.valueNode(one)) : this.valueNode(value)));
  }

  valueNode(value) {
    const known = this.people.get(value);
    if (known) return el("b", { title: value }, known);
    const plain = typeof value === "string" ? value : Array.isArray(value) && !value.length ? "–" : JSON.stringify(value);
    return el("code", { title: plain }, /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(plain) ? plain.slice(0, 8) : plain);
  }

  refused(error) {
    this.told.hidden = false;
    tell(this.told, reasonOf(error), true);
  }
}

// Midnight by the reader's clock, `days` later; "" for no day.
function startOf(value, days = 0) {
  if (!value) return "";
  const moment = new Date(`${value}T00:00`);
  moment.setDate(moment.getDate() + days);
  return moment.toISOString();
}
