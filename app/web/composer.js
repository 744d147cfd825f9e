// The question box and what goes with a question: files, a day, who answers, and how deep to think.

import { call, upload } from "./client.js";
import { announce, el } from "./dom.js";
import { icon } from "./icons.js";
import { problemWords } from "./problems.js";
import { agentWords, figure, word } from "./words.js";

const MOST_ROWS = 6;
const MOST_FILES = 10;
const MOST_CHARS = 4000; // CONCLAVE_MAX_QUERY_CHARS; a server that takes fewer says so itself
const COMPOSING = 229; // the key code of keys that an input method takes, also where `isComposing` is not told
const NAMED = /^@([\w.-]+)(?:\s+|$)/; // "@hr how many days …"
const $ = (id) => document.getElementById(id);
const files = new Map(); // file id -> name
let reading = 0; // files that are on their way
let agents = []; // names that a question may be put to

export function setUpComposer({ onAsk, onStop, lastQuestion }) {
  $("attach").append(icon("attach"));
  $("when").append(icon("calendar"), el("span", { class: "when-told" }));
  $("clear-day").append(icon("close"));
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); onAsk($("question").value); });
  $("question").addEventListener("input", () => { fit(); tell(lengthRefusal($("question").value)); });
  $("question").addEventListener("paste", pasted);
  $("question").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== COMPOSING) { event.preventDefault(); $("ask").requestSubmit(); }
    if (event.key === "Escape" && !$("stop").hidden) onStop();
    if (event.key === "ArrowUp" && !$("question").value && lastQuestion()) { event.preventDefault(); editQuestion(lastQuestion()); }
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

// {body, refusal}: the body of a question with what was chosen beside it, or why it cannot be sent.
export function bodyOf(text) {
  const named = NAMED.exec(text);
  const agent = named ? named[1].toLowerCase() : $("agent").value;
  const isUnknown = named && !agents.includes(agent);
  const unknown = isUnknown ? word("noSuchAgent", { agent: named[0].trim(), agents: agents.map((one) => `@${one}`).join(", ") }) : "";
  const refusal = lengthRefusal(text) || unknown || (reading ? word("stillReading") : "");
  const query = named ? text.slice(named[0].length) : text;
  if (refusal || !query) return { body: null, refusal };
  const body = { query };
  if (agent) body.agents = { [agent]: {} };
  if (files.size) body.files = [...files.keys()];
  if ($("day").value) body.as_of = $("day").value;
  if (isPressed("deep")) body.mode = "deep";
  if (isPressed("approve")) body.approve_plan = true;
  return { body, refusal: "" };
}

// As the server counts: an emoji is one sign.
function lengthRefusal(text) {
  const number = text.length > MOST_CHARS ? [...text].length : 0;
  return number > MOST_CHARS ? word("tooLong", { number: figure(number, 0), most: figure(MOST_CHARS, 0) }) : "";
}

// Say something about the question before it is sent.
export function tell(text) {
  if ($("ask-told").textContent !== text) $("ask-told").textContent = text;
}

// A text that would make the question too long goes with it as a file: nothing of it is cut off.
function pasted(event) {
  const text = event.clipboardData?.getData("text/plain") ?? "";
  const { value, selectionStart, selectionEnd } = $("question");
  if (!lengthRefusal(value.slice(0, selectionStart) + text + value.slice(selectionEnd))) return;
  event.preventDefault();
  tell(word("pastedAsFile", { number: figure([...text].length, 0), most: figure(MOST_CHARS, 0) }));
  attachAll([new File([text], `${word("pastedName")}.txt`, { type: "text/plain" })]);
}

// Take a question into the box; Ctrl+Z brings back what stood there.
export function editQuestion(question) {
  $("question").focus();
  $("question").select();
  document.execCommand("insertText", false, question);
  fit();
}

// Whom a question may be put to: those that read departments stand in the list, every one can be named by "@name".
export function setAgents(offered) {
  agents = offered.map(({ name }) => name);
  const chosen = $("agent").value;
  const departments = offered.filter((agent) => agent.departments.length);
  $("agent").replaceChildren(el("option", { value: "" }, word("anyAgent")), ...departments.map(({ name }) => el("option", { value: name }, `@${name} · ${agentWords(name)}`)));
  $("agent").value = agents.includes(chosen) ? chosen : "";
  $("agent").hidden = departments.length < 2;
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
  $("agent").value = "";
  tell("");
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
  const room = MOST_FILES - files.size;
  if (chosen.length > room) tell(word("tooManyFiles", { most: MOST_FILES }));
  for (const file of chosen.slice(0, room)) await attachOne(file);
}

async function attachOne(file) {
  const told = el("span", { class: "fact" }, word("uploading"));
  const node = el("li", {}, el("span", { class: "name" }, file.name), told);
  $("files").append(node);
  reading += 1;
  try {
    const kept = await upload("/files", file);
    files.set(kept.file_id, kept.name);
    told.remove();
    node.append(removeButton(node, kept));
    announce(kept.name);
  } catch (error) {
    const reason = problemWords(error);
    told.className = "error";
    told.textContent = reason;
    node.append(removeButton(node, null));
    announce(reason);
  } finally {
    reading -= 1;
    if ($("ask-told").textContent === word("stillReading")) tell("");
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
