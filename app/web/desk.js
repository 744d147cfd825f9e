// The desk of whoever owns a department: what waits, and what is done about it. What it shows, the API gives to owners alone.

import { ApiProblem, call, session } from "./client.js";
import { signOutByCookie } from "./company.js";
import { applyDeskWords, say, sayIn } from "./desk-words.js";
import { announce, el } from "./dom.js";
import { openSource } from "./reader.js";
import { showSignIn, signInByLink } from "./signin.js";
import { setUpTheme } from "./theme.js";
import { currentLanguage, dateWords, departmentWords, setLanguage, wordIn } from "./words.js";

const PAGE = 20;
const KINDS = ["contradiction", "ending", "correction", "unanswered", "unused"];
const SCOPES = ["public", "internal", "private"];
const STATES = ["open", "done", "dismissed"];
const $ = (id) => document.getElementById(id);
const wanted = { kind: "", state: "open", mine: false };
let you = null;

function start() {
  setLanguage(currentLanguage());
  setUpTheme($("theme"));
  relabel();
  $("language").addEventListener("click", changeLanguage);
  $("sign-out").addEventListener("click", async () => { if (!await signOutByCookie()) await leave(); });
  enter();
}

function relabel() {
  applyDeskWords();
  $("language").textContent = currentLanguage() === "vi" ? "EN" : "VI";
}

async function changeLanguage() {
  setLanguage(currentLanguage() === "vi" ? "en" : "vi");
  relabel();
  if (session.token) await openRoom();
  else await showSignIn(openRoom);
}

async function enter() {
  await signInByLink();
  if (session.token) await openRoom();
  else await showSignIn(openRoom);
}

async function leave(message = "") {
  session.forget();
  $("stage").replaceChildren();
  await showSignIn(openRoom, message);
}

async function openRoom() {
  $("sign-in").hidden = true;
  $("room").hidden = false;
  $("sign-out").hidden = false;
  $("who").textContent = session.user;
  await show();
}

// --- the list -----------------------------------------------------------------------------------------------------

async function show() {
  const room = el("div", { class: "part" }, el("p", { class: "fact", role: "status" }, say("loading")));
  $("stage").replaceChildren(room);
  try {
    const page = await load(null);
    room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, say("title")), el("p", { class: "fact" }, say("hint"))), sortsNode(page), ...listNodes(page));
  } catch (error) {
    if (error.status === 401) { await leave(say("expired")); return; }
    if (error.status === 403) { refuse(); return; }
    const reason = error instanceof ApiProblem ? error.message : say("offline");
    room.replaceChildren(el("p", { class: "error", role: "alert" }, say("failedTo", { reason })), el("button", { type: "button", onclick: show }, say("tryAgain")));
  }
}

async function load(cursor) {
  const asked = { limit: PAGE, state: wanted.state, ...(wanted.kind && { kind: wanted.kind }), ...(wanted.mine && you && { assignee: you }), ...(cursor && { cursor }) };
  const told = await call("GET", `/desk/items?${new URLSearchParams(asked)}`);
  you = told.you;
  return told.page;
}

function refuse() {
  $("stage").replaceChildren(el("section", { class: "refused" },
    el("h2", {}, say("notOwner")), el("p", {}, say("notOwnerHint")), el("button", { type: "button", onclick: () => leave() }, say("otherUser"))));
  announce(say("notOwner"));
}

function sortsNode(page) {
  const total = Object.values(page.counts).reduce((sum, one) => sum + one, 0);
  const kinds = [["", say("all"), total], ...KINDS.map((kind) => [kind, sayIn("kind", kind), page.counts[kind] ?? 0])];
  const change = (changes) => { Object.assign(wanted, changes); show(); };
  const states = el("select", { "aria-label": say("states"), onchange: (event) => change({ state: event.target.value }) },
    STATES.map((state) => el("option", { value: state, selected: state === wanted.state }, `${sayIn("state", state)} (${page.states[state] ?? 0})`)));
  const mine = el("input", { type: "checkbox", onchange: (event) => change({ mine: event.target.checked }) });
  mine.checked = wanted.mine;
  return el("div", { class: "sorts", role: "group", "aria-label": say("kinds") },
    kinds.map(([kind, text, number]) => el("button", { type: "button", class: "toggle", "data-kind": kind, "aria-pressed": String(kind === wanted.kind), onclick: () => change({ kind }) }, text, " ", el("b", {}, number))),
    el("label", { class: "mine" }, mine, say("mine")), states);
}

function listNodes(page) {
  const list = el("ul", { class: "items" });
  const more = el("button", { type: "button", class: "quiet" }, say("more"));
  const add = (next) => {
    list.append(...next.items.map(itemNode));
    more.hidden = !next.next_cursor;
    more.onclick = async () => add(await load(next.next_cursor));
  };
  add(page);
  return [page.items.length ? list : el("p", {}, say("nothing")), more];
}

// --- one item -----------------------------------------------------------------------------------------------------

function itemNode(item) {
  const told = el("p", { class: "fact", role: "status" });
  const node = el("li", { class: "card desk-item", "data-kind": item.kind, "data-state": item.state, "data-item": item.item_id });
  const act = (work) => doing(node, told, work);
  const facts = [item.departments.map(departmentWords).join(", "), dateWords(item.since), item.assigned_to && say("assignedTo", { name: item.assigned_to }), item.state === "open" ? "" : sayIn("state", item.state)];
  node.append(
    el("p", { class: "mark" }, el("span", { class: "standing", "data-kind": item.kind }, sayIn("kind", item.kind)), el("span", { class: "fact" }, facts.filter(Boolean).join(" · "))),
    el("p", {}, sayIn("detail", item.detail, { day: item.day ? dateWords(item.day) : "", number: item.askers })),
    ...[item.question ? quoteNode(questionWords(item), item.question) : null, item.correction ? quoteNode(say("shouldSay"), item.correction) : null,
      item.documents.length ? el("div", { class: "pair" }, item.documents.map((one) => documentNode(item, one, act))) : null,
      item.reason ? el("p", { class: "fact" }, say("note", { reason: item.reason })) : null, draftNode(item), answersNode(item),
      item.may_act ? null : el("p", { class: "fact" }, say("shared"))].filter(Boolean),
    el("div", { class: "doing" }, actsNode(item, act, node)), told);
  return node;
}

function questionWords(item) {
  if (item.kind !== "contradiction") return say("question");
  return item.askers > 1 ? say("askedBy", { number: item.askers }) : say("askedByOne");
}

const quoteNode = (title, text) => el("div", {}, el("h4", {}, title), el("blockquote", {}, text));

function documentNode(item, one, act) {
  const facts = el("p", { class: "fact" }, departmentWords(one.department), " ", el("span", { class: "tag", "data-scope": one.scope }, wordIn("scope", one.scope)));
  const isOpen = item.kind === "contradiction" && item.state === "open" && item.may_act;
  const holds = () => decide(item, { verdict: "holds", holds: one.document_id }, act);
  return el("article", { class: "party" },
    el("button", { type: "button", class: "source", onclick: () => openSource(one.url, [one.sentence].filter(Boolean), one.title) }, one.title), facts,
    one.sentence ? el("blockquote", {}, one.sentence) : null,
    isOpen ? el("button", { type: "button", class: "plain holds", "aria-label": `${say("holds")}: ${one.title}`, onclick: holds }, say("holds")) : null);
}

// What the reader was answered, with the reader's own rights, before and after.
function answersNode(item) {
  const shown = [["before", item.before], ["after", item.after]].filter(([, answer]) => answer);
  if (!shown.length) return null;
  return el("div", {}, el("div", { class: "pair answers" }, shown.map(([key, { outcome, answer }]) => el("article", { class: "party", "data-answer": key, "data-standing": key === "after" ? "holds" : null },
    el("h4", {}, say(key), outcome ? ` · ${wordIn("outcome", outcome)}` : ""), el("p", { class: "answer" }, answer ? answer.replaceAll("**", "") : say("notYet"))))),
  el("p", { class: "fact" }, say("yours")));
}

function actsNode(item, act, node) {
  const button = (key, onclick) => el("button", { type: "button", class: "plain", "data-act": key, onclick }, say(key));
  const patch = (body) => act(() => call("PATCH", `/desk/items/${item.item_id}`, body));
  const again = item.question ? [button("askAgain", () => act((note) => { note(say("askingAfter")); return askItem(item); }))] : [];
  if (!item.may_act) return again;
  if (item.state !== "open") return [button("reopen", () => patch({ act: "reopen" })), ...again];
  const mine = item.assignee === you;
  const answer = item.question && item.kind !== "contradiction" ? [button("writeAnswer", () => writeAnswer(item, node, act))] : [];
  const verdicts = item.kind === "contradiction"
    ? [button("differentCases", () => decide(item, { verdict: "different_cases" }, act)), button("noContradiction", () => decide(item, { verdict: "no_contradiction" }, act))]
    : [button("done", () => patch({ act: "done" }))];
  return [...answer, ...verdicts, button(mine ? "release" : "take", () => patch({ act: "assign", assignee: mine ? null : you })), button("dismiss", () => askWhy(node, patch)), ...again];
}

// A line to say why, in place of a dialog.
function askWhy(node, patch) {
  node.querySelector(".dismissal")?.remove();
  const box = el("textarea", { rows: 1, maxlength: 2000, required: true, "aria-label": say("reason"), placeholder: say("reason") });
  const form = el("form", { class: "dismissal", onsubmit: (event) => { event.preventDefault(); if (box.value.trim()) patch({ act: "dismiss", reason: box.value.trim() }); } },
    box, el("button", { type: "submit" }, say("confirmDismiss")), el("button", { type: "button", class: "quiet", onclick: () => form.remove() }, say("cancel")));
  node.append(form);
  box.focus();
}

// What an owner wrote to answer the question; an administrator brings it in.
function draftNode({ draft }) {
  if (!draft) return null;
  const facts = [departmentWords(draft.department), wordIn("scope", draft.scope), say("reviewOn", { day: dateWords(draft.review_on) })];
  return el("div", { class: "draft" }, el("h4", {}, say("draft")), el("p", { class: "answer" }, draft.text), el("p", { class: "fact" }, facts.join(" · ")));
}

function writeAnswer(item, node, act) {
  node.querySelector(".writing")?.remove();
  const { draft } = item;
  const inAYear = new Date(Date.now() + 365 * 86_400_000).toISOString().slice(0, 10);
  const field = (name, control) => el("label", { class: "field" }, say(name), control);
  const box = el("textarea", { rows: 4, maxlength: 20000, required: true });
  box.value = draft?.text ?? item.correction ?? "";
  const department = el("input", { type: "text", required: true, maxlength: 64, value: draft?.department ?? item.departments[0] ?? "" });
  const scope = el("select", {}, SCOPES.map((one) => el("option", { value: one, selected: one === (draft?.scope ?? "internal") }, wordIn("scope", one))));
  const day = el("input", { type: "date", required: true, value: draft?.review_on ?? inAYear });
  const send = () => act(() => call("POST", `/desk/items/${item.item_id}/answer`, { text: box.value.trim(), department: department.value.trim(), scope: scope.value, review_on: day.value }));
  const form = el("form", { class: "writing", onsubmit: (event) => { event.preventDefault(); send(); } },
    field("answerText", box), el("div", { class: "fields" }, field("department", department), field("scopeOf", scope), field("reviewDay", day)),
    el("p", { class: "fact" }, say("writeHint")), el("div", { class: "doing" }, el("button", { type: "submit" }, say("sendAnswer")), el("button", { type: "button", class: "quiet", onclick: () => form.remove() }, say("cancel"))));
  node.append(form);
  box.focus();
}

const askItem = (item) => call("POST", `/desk/items/${item.item_id}/ask`);

// Ask the item's question, give the verdict, and ask again; what nobody asked is only decided.
function decide(item, verdict, act) {
  return act(async (note) => {
    if (item.question && !item.before) { note(say("askingBefore")); await askItem(item); }
    note(say("deciding"));
    await call("PATCH", `/contradictions/${item.finding_id}`, { act: "decide", ...verdict });
    if (!item.question) return null;
    note(say("askingAfter"));
    return askItem(item);
  });
}

// Do it and show what became of the item; it stays where it is until the list is read again.
async function doing(node, told, work) {
  const note = (text) => { told.className = "fact"; told.textContent = text; announce(text); };
  for (const button of node.querySelectorAll("button")) button.disabled = true;
  try {
    const item = await work(note);
    if (item === null) { await show(); announce(say("saved")); return; }
    const next = itemNode(item);
    node.replaceWith(next);
    (next.querySelector(".doing button") ?? next.querySelector("button"))?.focus();
    const page = await load(null);
    document.querySelector(".sorts")?.replaceWith(sortsNode(page));
    announce(say("saved"));
  } catch (error) {
    for (const button of node.querySelectorAll("button")) button.disabled = false;
    told.className = "error";
    told.textContent = say("failedTo", { reason: error.message });
    announce(told.textContent);
  }
}

start();
