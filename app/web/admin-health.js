// The health report: what is wrong with the documents, gravest first.

import { openDocument } from "./admin-document.js";
import { knownDepartments } from "./admin-fields.js";
import { say, sayIn, whole } from "./admin-words.js";
import { call } from "./client.js";
import { el } from "./dom.js";
import { currentLanguage, departmentWords, percent, wordIn } from "./words.js";

const PAGE = 50;

export async function showHealth(room) {
  const [report, departments] = await Promise.all([call("GET", `/documents/health?limit=${PAGE}`), knownDepartments()]);
  const handlers = { departments, onChanged: () => showHealth(room), onNewVersion: () => { location.hash = "documents"; } };
  const items = el("ul", { class: "items" });
  const more = el("button", { type: "button", class: "quiet" }, say("more"));
  const add = (page) => {
    items.append(...page.items.map((one) => itemNode(one, handlers)));
    more.hidden = !page.next_cursor;
    more.onclick = async () => add(await call("GET", `/documents/health?${new URLSearchParams({ limit: PAGE, cursor: page.next_cursor })}`));
  };
  add(report);
  const counts = Object.entries(report.counts).filter(([, number]) => number > 0);
  room.replaceChildren(el("div", { class: "heading" }, el("h2", {}, sayIn("part", "health")), el("p", { class: "fact" }, say("healthHint"))),
    el("ul", { class: "counts" }, counts.map(([kind, number]) => el("li", { "data-kind": kind }, el("b", {}, whole(number)), " ", sayIn("kind", kind)))),
    counts.length ? items : el("p", {}, say("healthy")), more);
}

function itemNode(one, handlers) {
  return el("li", { class: "card item", "data-kind": one.kind },
    el("p", { class: "mark" }, el("span", { class: "standing", "data-kind": one.kind }, sayIn("kind", one.kind)), one.score < 1 ? el("span", { class: "fact" }, say("unsure", { share: percent(one.score) })) : null),
    el("p", {}, one.advice[currentLanguage()]),
    el("div", { class: "pair" }, [one.document, one.other].filter(Boolean).map((side) => sideNode(side, handlers))));
}

function sideNode(side, handlers) {
  return el("article", { class: "party" },
    el("button", { type: "button", class: "source", onclick: () => openDocument(side.document_id, handlers) }, side.title || side.external_id),
    el("p", { class: "fact" }, [departmentWords(side.department), wordIn("scope", side.scope), side.section].filter(Boolean).join(" · ")),
    side.value ? el("p", { class: "value" }, side.value) : null,
    side.sentence ? el("blockquote", {}, side.sentence) : null);
}
