// Who can see a document, from what its rights and days are: in words, and by name where people are written down.

import { say } from "./admin-words.js";
import { call } from "./client.js";
import { el } from "./dom.js";
import { dateWords, departmentWords, wordIn } from "./words.js";

const GENERAL = "general"; // the department that belongs to everybody

export function sightNode({ scope, department, effective_from: from, effective_to: to }) {
  const people = el("div", { class: "people" });
  showPeople(people, scope, department);
  return el("div", {}, el("ul", { class: "sight" }, el("li", {}, el("b", {}, readersWords(scope, department))), el("li", {}, daysTold(from, to)), el("li", { class: "fact" }, say("seesAdmin"))), people);
}

function readersWords(scope, department) {
  if (scope === "public") return say("seesPublic");
  if (scope === "internal") return say("seesInternal");
  return department === GENERAL ? say("seesGeneral") : say("seesPrivate", { department: departmentWords(department) });
}

function daysTold(from, to) {
  const today = new Date().toISOString().slice(0, 10);
  if (from && from > today) return say("seesLater", { from: dateWords(from) });
  if (to && to < today) return say("seesPast", { to: dateWords(to) });
  return say("seesNow");
}

async function showPeople(node, scope, department) {
  try {
    const { readers, is_cut: isCut } = await call("GET", `/admin/readers?${new URLSearchParams({ scope, department })}`);
    if (!readers.length) return;
    const sorted = [...readers].sort((one, other) => Number(other.may_read) - Number(one.may_read));
    node.replaceChildren(
      el("p", {}, say("readersCounted", { number: readers.filter((one) => one.may_read).length, total: readers.length })),
      el("ul", { class: "readers" }, sorted.map((one) => readerNode(one, scope, department))),
      el("p", { class: "fact" }, isCut ? say("readersCut") : "", " ", say("readersHint")));
  } catch { // the words above stand for themselves
  }
}

function readerNode(one, scope, department) {
  const why = one.lacks === "scope" ? say("lacksScope", { scope: wordIn("scope", scope) }) : one.lacks ? say("lacksDepartment", { department: departmentWords(department) }) : null;
  return el("li", { "data-reads": String(one.may_read) }, el("b", {}, one.display_name || one.name), " ", el("span", { class: "fact" }, [departmentWords(one.department), why].filter(Boolean).join(" · ")));
}
