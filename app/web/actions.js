// Below an answer: thumbs with a correction, copy, and asking again.

import { call } from "./client.js";
import { announce, el } from "./dom.js";
import { icon } from "./icons.js";
import { copyText } from "./markdown.js";
import { problemWords } from "./problems.js";
import { word } from "./words.js";

const COPIED_MS = 2000;

// `taskId` is null for a question that has no answer to judge: it was refused before a run began, or stopped;
// `markdown()` gives the turn's text, or is null; `onRetry()` asks again, `onEdit()` takes the question into the box.
export function actionsNode(taskId, { markdown = null, onRetry, onEdit }) {
  const told = el("span", { class: "fact told", role: "status" });
  const box = el("div", { class: "actions" });
  if (taskId !== null) box.append(...thumbs(taskId, box, told));
  if (markdown) box.append(copyButton(markdown, told));
  box.append(iconButton("retry", "retry", onRetry), iconButton("pen", "editQuestion", onEdit), told);
  return box;
}

function iconButton(name, key, onclick, attributes = {}) {
  return el("button", { type: "button", class: "icon", "aria-label": word(key), title: word(key), onclick, ...attributes }, icon(name));
}

function copyButton(markdown, told) {
  return iconButton("copy", "copy", async () => {
    await copyText(markdown());
    told.textContent = word("copied");
    setTimeout(() => { if (told.textContent === word("copied")) told.textContent = ""; }, COPIED_MS);
  });
}

function thumbs(taskId, box, told) {
  const buttons = new Map([[1, iconButton("up", "good", () => press(1), { "aria-pressed": "false" })], [-1, iconButton("down", "bad", () => press(-1), { "aria-pressed": "false" })]]);
  const form = correctionForm((correction) => rate(-1, correction), () => form.remove());
  let rating = 0;

  async function press(pressed) {
    await rate(rating === pressed ? 0 : pressed, "");
    if (rating === -1) {
      box.after(form);
      form.querySelector("textarea").focus();
    } else form.remove();
  }

  async function rate(next, correction) {
    try {
      rating = (await call("PUT", `/tasks/${taskId}/feedback`, { rating: next, correction })).rating;
      for (const [value, button] of buttons) button.setAttribute("aria-pressed", String(value === rating));
      told.textContent = word(rating === 0 ? "takenBack" : "thanks");
      if (correction) form.remove();
    } catch (error) {
      told.textContent = problemWords(error);
      announce(problemWords(error));
    }
  }
  return [...buttons.values()];
}

function correctionForm(onSend, onCancel) {
  const box = el("textarea", { rows: 2, maxlength: 2000, "aria-label": word("correction"), placeholder: word("correction") });
  return el("form", { class: "correction", onsubmit: (event) => { event.preventDefault(); if (box.value.trim()) onSend(box.value.trim()); } },
    box, el("button", { type: "submit" }, word("send")), el("button", { type: "button", class: "quiet", onclick: onCancel }, word("cancel")), el("small", { class: "fact" }, word("correctionHint")));
}
