// Fields of the forms: a label with what it names.

import { say } from "./admin-words.js";
import { call } from "./client.js";
import { el } from "./dom.js";
import { departmentWords, wordIn } from "./words.js";

export const SCOPES = ["public", "internal", "private"];

export function field(id, label, control, hint = null) {
  control.id = id;
  control.name ||= id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return el("div", { class: "field" }, el("label", { for: id }, label), control, hint ? el("small", { id: `${id}-hint`, class: "fact" }, hint) : null);
}

export function choice(options, value = "", attributes = {}) {
  return el("select", attributes, options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));
}

export const scopeChoices = () => SCOPES.map((scope) => [scope, wordIn("scope", scope)]);

export const departmentChoices = (names) => names.map((name) => [name, departmentWords(name)]);

export function day(value = "") {
  return el("input", { type: "date", value: value ?? "" });
}

export function text(value = "", attributes = {}) {
  return el("input", { type: "text", autocomplete: "off", maxlength: 500, value: value ?? "", ...attributes });
}

// A message under a form: "status" for what went well, "alert" for what did not.
export function tell(node, words, isError = false) {
  node.className = isError ? "error" : "fact";
  node.setAttribute("role", isError ? "alert" : "status");
  node.textContent = words;
}

export const reasonOf = (error) => say("failedTo", { reason: error.message });

// Departments that can be named: the caller's own, and those of the documents that were changed last.
export async function knownDepartments() {
  const [{ departments }, { documents }] = await Promise.all([call("GET", "/agents"), call("GET", "/documents?limit=100")]);
  return [...new Set([...departments, ...documents.map((one) => one.department)])].sort();
}
