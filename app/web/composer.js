// The question box and what goes with a question: files, a day, and how deep to think.

import { ApiProblem, call, upload } from "./client.js";
import { announce, el } from "./dom.js";
import { icon } from "./icons.js";
import { word } from "./words.js";

const MOST_ROWS = 6;
const MOST_FILES = 10;
const $ = (id) => document.getElementById(id);
const files = new Map(); // file id -> name

export function setUpComposer({ onAsk, onStop }) {
  $("attach").append(icon("attach"));
  $("when").append(icon("calendar"), el("span", { class: "when-told" }));
  $("clear-day").append(icon("close"));
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); onAsk($("question").value); });
  $("question").addEventListener("input", fit);
  $("question").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); $("ask").requestSubmit(); }
    if (event.key === "Escape" && !$("stop").hidden) onStop();
  });
  $("stop").addEventListener("click", onStop);
  $("attach").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", async () => { await attachAll([...$("file").files]); $("file").value = ""; });
  $("when").addEventListener("click", () => showDay($("day-row").hidden));
  $("clear-day").addEventListener("click", () => { $("day").value = ""; showDay(false); $("when").focus(); });
  $("deep").addEventListener("click", () => press("deep", !isPressed("deep")));
  $("approve").addEventListener("click", () => press("approve", !isPressed("approve")));
  for (const kind of ["dragover", "drop"]) {
    $("ask").addEventListener(kind, (event) => { event.preventDefault(); if (kind === "drop") attachAll([...event.dataTransfer.files]); });
  }
}

// The body of a question, with what was chosen beside it.
export function bodyOf(query) {
  const body = { query };
  if (files.size) body.files = [...files.keys()];
  if ($("day").value) body.as_of = $("day").value;
  if (isPressed("deep")) body.mode = "deep";
  if (isPressed("approve")) body.approve_plan = true;
  return body;
}

export function clearQuestion() {
  $("question").value = "";
  fit();
}

// A new conversation begins without files and by today's rules.
export function clearChoices() {
  files.clear();
  $("files").replaceChildren();
  $("day").value = "";
  showDay(false);
  press("deep", false);
}

export function showRunning(isRunning) {
  $("send").hidden = isRunning;
  $("stop").hidden = !isRunning;
}

const isPressed = (id) => $(id).getAttribute("aria-pressed") === "true";

// Only a deep answer's plan can be looked at first.
function press(id, isOn) {
  $(id).setAttribute("aria-pressed", String(isOn));
  $("approve").hidden = !isPressed("deep");
  if ($("approve").hidden) $("approve").setAttribute("aria-pressed", "false");
}

function showDay(isShown) {
  $("day-row").hidden = !isShown;
  $("when").setAttribute("aria-expanded", String(isShown));
  if (isShown) $("day").focus();
}

function fit() {
  const box = $("question");
  box.rows = 1;
  const style = getComputedStyle(box);
  const text = box.scrollHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
  box.rows = Math.min(MOST_ROWS, Math.max(1, Math.round(text / parseFloat(style.lineHeight))));
}

async function attachAll(chosen) {
  for (const file of chosen.slice(0, MOST_FILES - files.size)) await attachOne(file);
}

async function attachOne(file) {
  const told = el("span", { class: "fact" }, word("uploading"));
  const node = el("li", {}, el("span", { class: "name" }, file.name), told);
  $("files").append(node);
  try {
    const kept = await upload("/files", file);
    files.set(kept.file_id, kept.name);
    told.remove();
    node.append(removeButton(node, kept));
    announce(kept.name);
  } catch (error) {
    const reason = error instanceof ApiProblem ? error.message : word("offline");
    told.className = "error";
    told.textContent = reason;
    node.append(removeButton(node, null));
    announce(reason);
  }
}

function removeButton(node, kept) {
  const remove = async () => {
    node.remove();
    $("question").focus();
    if (kept === null) return;
    files.delete(kept.file_id);
    await call("DELETE", `/files/${kept.file_id}`).catch(() => null); // it expires by itself
  };
  return el("button", { type: "button", class: "icon small", "aria-label": `${word("detach")}: ${kept?.name ?? ""}`, onclick: remove }, icon("close"));
}
