// Who can see a document, in words, from what its rights and days are.

import { say } from "./admin-words.js";
import { el } from "./dom.js";
import { dateWords, departmentWords } from "./words.js";

const GENERAL = "general"; // the department that belongs to everybody

export function sightNode({ scope, department, effective_from: from, effective_to: to }) {
  return el("ul", { class: "sight" }, el("li", {}, el("b", {}, readersWords(scope, department))), el("li", {}, daysTold(from, to)), el("li", { class: "fact" }, say("seesAdmin")));
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
