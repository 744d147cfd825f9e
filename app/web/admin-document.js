// One document: what it is, who can see it, its rights and days, its versions, and deleting it.

import { choice, day, departmentChoices, field, reasonOf, scopeChoices, tell, text } from "./admin-fields.js";
import { sightNode } from "./admin-sight.js";
import { versionsNode } from "./admin-versions.js";
import { daysWords, momentWords, say, sayIn, sizeWords, whole } from "./admin-words.js";
import { call, session } from "./client.js";
import { announce, el, link, safeAddress } from "./dom.js";
import { departmentWords, wordIn } from "./words.js";

const sheet = document.getElementById("sheet");

export function closeSheet() {
  if (sheet.open) sheet.close();
}

// `handlers` = {departments, onChanged(), onNewVersion(document)}.
export async function openDocument(id, handlers) {
  sheet.replaceChildren(el("p", { class: "fact" }, say("loading")));
  if (!sheet.open) sheet.showModal();
  try {
    const [one, { versions }] = await Promise.all([call("GET", `/documents/${id}`), call("GET", `/documents/${id}/versions`)]);
    draw(one, versions, handlers);
  } catch (error) {
    sheet.replaceChildren(headNode(say("document")), el("p", { class: "error", role: "alert" }, reasonOf(error)));
  }
}

function draw(one, versions, handlers) {
  sheet.replaceChildren(headNode(one.title || one.external_id), el("div", { class: "leaf" },
    factsNode(one),
    section(say("whoSees"), sightNode(one), "sees"),
    changeNode(one, handlers),
    section(say("versions"), versionsNode(versions), "versions"),
    el("div", { class: "doing" }, el("button", { type: "button", class: "plain", onclick: () => { closeSheet(); handlers.onNewVersion(one); } }, say("newVersion"))),
    eraseNode(one, handlers)));
}

function headNode(title) {
  return el("header", {}, el("h2", { id: "sheet-title" }, title), el("button", { type: "button", class: "icon", "aria-label": say("close"), onclick: closeSheet }, "×"));
}

function section(title, body, name) {
  return el("section", { "data-section": name }, el("h3", {}, title), body);
}

function factsNode(one) {
  const facts = [
    [say("status"), el("span", { class: "standing", "data-status": one.status }, sayIn("stageName", one.status))],
    [say("department"), departmentWords(one.department)],
    [say("scope"), el("span", { class: "tag", "data-scope": one.scope }, wordIn("scope", one.scope))],
    [say("days"), daysWords(one.effective_from, one.effective_to)],
    [say("externalId"), el("code", {}, one.external_id)],
    one.supersedes ? [say("supersedes"), el("code", {}, one.supersedes)] : null,
    [say("file"), [one.file_name, one.kind, one.byte_count ? sizeWords(one.byte_count) : ""].filter(Boolean).join(" · ")],
    [say("passages"), whole(one.chunks_total)],
    [say("changed"), momentWords(one.updated_at)],
    safeAddress(one.url) ? ["URL", link(one.url, one.url)] : null,
  ].filter(Boolean);
  return el("section", { "data-section": "facts" },
    one.status_detail ? el("p", { class: "notice" }, one.status_detail) : null,
    el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    one.warnings.length ? el("div", { class: "notice" }, el("b", {}, say("warnings")), el("ul", {}, one.warnings.map(({ advice, count, sentences, proposes }) => el("li", {}, count > 1 ? `${advice} (${count})` : advice, Object.keys(proposes ?? {}).length && el("ul", {}, Object.entries(proposes).map(([field, [value, sentence]]) => el("li", {}, el("b", {}, `${field}: ${value}`), " ", el("q", {}, sentence)))) || null, sentences?.length ? el("ul", {}, sentences.map((sentence) => el("li", {}, el("q", {}, sentence)))) : null)))) : null,
    one.byte_count ? saveNode(one) : null);
}

// The original needs the token, so it is fetched and then given to the browser to keep.
function saveNode(one) {
  const told = el("span", { class: "error", role: "alert" });
  const save = async () => {
    const answer = await fetch(`/api/v1/documents/${one.document_id}/original`, { headers: session.headers });
    if (!answer.ok) { told.textContent = answer.status === 404 ? say("noOriginal") : say("failedTo", { reason: `HTTP ${answer.status}` }); return; }
    const address = URL.createObjectURL(await answer.blob());
    el("a", { href: address, download: one.file_name || "document" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  return el("div", { class: "doing" }, el("button", { type: "button", class: "plain", onclick: save }, say("saveOriginal")), told);
}

function changeNode(one, handlers) {
  const names = [...new Set([...handlers.departments, one.department])];
  const inputs = { scope: choice(scopeChoices(), one.scope), department: choice(departmentChoices(names), one.department), effective_from: day(one.effective_from), effective_to: day(one.effective_to), supersedes: text(one.supersedes) };
  const told = el("p", { class: "fact", role: "status" });
  const then = el("div", { class: "then", "aria-live": "polite" });
  const changes = () => changed(one, inputs);
  const preview = () => {
    const said = changes();
    then.replaceChildren(...(Object.keys(said).length ? [el("h4", {}, say("whoWouldSee")), sightNode({ ...one, ...said })] : []));
  };
  const save = async (event) => {
    event.preventDefault();
    const said = changes();
    if (!Object.keys(said).length) { tell(told, say("nothingChanged")); return; }
    try {
      await call("PATCH", `/documents/${one.document_id}`, said);
      await Promise.all([openDocument(one.document_id, handlers), handlers.onChanged()]);
      announce(say("saved"));
    } catch (error) {
      tell(told, reasonOf(error), true);
    }
  };
  return section(say("change"), el("form", { class: "change", onsubmit: save, oninput: preview },
    el("div", { class: "fields" }, field("ch-scope", say("scope"), inputs.scope), field("ch-department", say("department"), inputs.department),
      field("ch-from", say("from"), inputs.effective_from), field("ch-to", say("to"), inputs.effective_to), field("ch-supersedes", say("supersedes"), inputs.supersedes)),
    then, el("div", { class: "doing" }, el("button", { type: "submit" }, say("save")), told)), "change");
}

// Only what differs; an emptied day or id is null.
function changed(one, inputs) {
  const said = Object.entries(inputs).map(([name, input]) => [name, input.value.trim() || null]);
  return Object.fromEntries(said.filter(([name, value]) => value !== (one[name] ?? null)));
}

function eraseNode(one, handlers) {
  const told = el("p", { class: "error", role: "alert" });
  const erase = async () => {
    if (!confirm(say("eraseAsk", { title: one.title, number: one.latest_version }))) return;
    try {
      await call("DELETE", `/documents/${one.document_id}`);
      closeSheet();
      announce(say("erased", { title: one.title }));
      await handlers.onChanged();
    } catch (error) {
      tell(told, reasonOf(error), true);
    }
  };
  return section(say("erase"), [el("p", { class: "fact" }, say("eraseHint")), el("button", { type: "button", class: "stop", onclick: erase }, say("erase")), told], "erase");
}
