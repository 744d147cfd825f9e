// People: who there is and whether they have a password here; adding somebody, and the links with which people set passwords.

import { choice, departmentChoices, field, reasonOf, scopeChoices, tell, text } from "./admin-fields.js";
import { momentWords, say, sayIn, whole } from "./admin-words.js";
import { call } from "./client.js";
import { announce, el } from "./dom.js";
import { copyText } from "./markdown.js";
import { departmentWords, wordIn } from "./words.js";

const PAGE = 50;
const PAUSE_MS = 300; // a name that is still being written asks nothing
const ROLES = ["reader", "owner", "auditor", "admin"];

export async function showPeople(room) {
  const { is_on: hasLinks } = await call("GET", "/auth/local").catch(() => ({ is_on: false }));
  const list = new People(hasLinks);
  const departments = await everyDepartment();
  await list.load();
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "people")), el("p", { class: "fact" }, say(hasLinks ? "peopleHint" : "peopleHintProvider"))),
    addNode(departments, list, hasLinks), list.link, list.filters, list.node);
}

// Those agents answer for, and general.
async function everyDepartment() {
  const { agents } = await call("GET", "/admin/agents");
  return [...new Set(["general", ...agents.flatMap((one) => one.departments)])].sort();
}

function boxes(key, options, chosen) {
  const inputs = options.map(([value]) => el("input", { type: "checkbox", value, checked: chosen.includes(value) }));
  const node = el("fieldset", { class: "boxes" }, el("legend", {}, say(key)), options.map(([, words], at) => el("label", {}, inputs[at], ` ${words}`)));
  return { node, get values() { return inputs.filter((one) => one.checked).map((one) => one.value); } };
}

function addNode(departments, list, hasLinks) {
  const name = text("", { required: true, maxlength: 200, spellcheck: "false", autocapitalize: "none" });
  const shown = text("", { maxlength: 200 });
  const department = choice(departmentChoices(departments), "general");
  const further = boxes("furtherDepartments", departmentChoices(departments), []);
  const scopes = boxes("mayRead", scopeChoices(), ["public", "internal"]);
  const roles = boxes("roles", ROLES.map((one) => [one, sayIn("roleName", one)]), []);
  const told = el("p");
  const button = el("button", { type: "submit" }, say(hasLinks ? "addAndInvite" : "addPerson"));
  const form = el("form", {},
    el("div", { class: "fields" }, field("person-name", say("personName"), name, say("personNameHint")), field("person-shown", say("personShown"), shown), field("person-department", say("department"), department), further.node, scopes.node, roles.node),
    el("div", { class: "doing" }, button, told));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const made = await call("POST", "/users", { name: name.value.trim(), display_name: shown.value.trim(), department: department.value, departments: further.values, scopes: scopes.values, roles: roles.values });
      form.reset();
      tell(told, say("personAdded", { name: made.name }));
      if (hasLinks) await list.invite(made);
      await list.load();
    } catch (error) { tell(told, reasonOf(error), true); }
    button.disabled = false;
  });
  return el("details", { class: "card", id: "add-person" }, el("summary", {}, say("addPerson")), form);
}

class People {
  constructor(hasLinks) {
    this.hasLinks = hasLinks;
    this.link = el("section", { class: "card invitation", hidden: true, role: "status" });
    this.find = text("", { type: "search", maxlength: 200 });
    this.count = el("p", { class: "fact", role: "status" });
    this.told = el("p", { class: "error", role: "alert", hidden: true });
    this.filters = el("div", { class: "filters" }, field("find-person", say("findPerson"), this.find), this.count);
    this.rows = el("tbody");
    this.more = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.try(() => this.load(this.cursor)) }, say("more"));
    const heads = ["person", "department", "mayRead", "roles", "accountState", "doWhat"];
    this.node = el("div", {}, this.told, el("table", { class: "listing people" }, el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col", class: `of-${key}` }, say(key))))), this.rows), this.more);
    this.find.addEventListener("input", () => { clearTimeout(this.typing); this.typing = setTimeout(() => this.try(() => this.load()), PAUSE_MS); });
  }

  async load(cursor = null) {
    const asked = new URLSearchParams({ limit: PAGE, ...(cursor && { cursor }), ...(this.find.value.trim() && { q: this.find.value.trim() }) });
    const turn = this.turn = (this.turn ?? 0) + 1;
    const [{ users, next_cursor: further }, states] = await Promise.all([call("GET", `/users?${asked}`), this.hasLinks ? call("GET", "/account/invitations") : []]);
    if (turn !== this.turn) return;
    this.told.hidden = true;
    const stateOf = new Map(states.map((one) => [one.user_id, one]));
    if (!cursor) this.rows.replaceChildren();
    this.rows.append(...users.map((one) => this.row(one, stateOf.get(one.user_id))));
    this.cursor = further;
    this.more.hidden = !further;
    this.count.textContent = say("peopleCount", { number: whole(this.rows.childElementCount) });
  }

  row(one, state) {
    const cells = {
      department: one.departments.map(departmentWords).join(", "), mayRead: one.scopes.map((scope) => wordIn("scope", scope)).join(", ") || "–",
      roles: one.roles.map((role) => sayIn("roleName", role)).join(", ") || "–", accountState: this.stateNode(one, state), doWhat: this.acts(one, state),
    };
    return el("tr", { "data-person": one.name }, el("th", { scope: "row", class: "of-person" }, el("b", {}, one.name), one.display_name ? el("span", { class: "fact side-facts" }, one.display_name) : null),
      Object.entries(cells).map(([key, told]) => el("td", { class: `of-${key}` }, told)));
  }

  stateNode(one, state) {
    const [kind, words] = one.disabled_at ? ["failed", say("isDisabled")] : one.is_service ? ["", say("isProgram")]
      : state?.set_at ? ["ready", say(state.has_codes ? "hasPasswordAndCodes" : "hasPassword")] : state?.invited_until ? ["partial", say("isInvited", { moment: momentWords(state.invited_until) })] : ["", say("hasNone")];
    const pending = state?.set_at && state.invited_until ? el("span", { class: "fact side-facts" }, say("isInvited", { moment: momentWords(state.invited_until) })) : null;
    return [el("span", { class: "standing", "data-status": kind || null }, words), pending];
  }

  acts(one, state) {
    const act = (key, onclick) => el("button", { type: "button", class: "plain", "aria-label": `${say(key)}: ${one.name}`, onclick: () => this.try(onclick) }, say(key));
    const isOut = Boolean(one.disabled_at);
    return [
      this.hasLinks && !isOut && !one.is_service ? act(state?.set_at ? "newLink" : "inviteLink", () => this.invite(one)) : null,
      act(isOut ? "letIn" : "shutOut", async () => { await call("PATCH", `/users/${one.user_id}`, { disabled: !isOut }); await this.load(); }),
    ];
  }

  // Show the link, this once; it stands nowhere else.
  async invite(one) {
    const { link, expires_at: until } = await call("POST", `/account/invitations/${one.user_id}`);
    const address = `${location.origin}/#link=${link}`;
    const told = el("span", { class: "fact", role: "status" });
    const box = text(address, { readonly: true, maxlength: 500 });
    const copy = el("button", { type: "button", onclick: async () => { await copyText(address); told.textContent = say("linkCopied"); } }, say("copyLink"));
    this.link.replaceChildren(el("h3", {}, say("linkFor", { name: one.display_name || one.name })), el("p", {}, say("linkShownOnce", { moment: momentWords(until) })), field("invitation-link", say("theLink"), box), el("div", { class: "doing" }, copy, told));
    this.link.hidden = false;
    announce(say("linkFor", { name: one.name }));
    await this.load();
    box.focus();
    box.select();
  }

  async try(act) {
    try {
      await act();
    } catch (error) {
      this.told.hidden = false;
      tell(this.told, reasonOf(error), true);
    }
  }
}
