// Erasing all that a person asked, was told and attached: what goes and what stays is told before, and there is a receipt.

import { call, session } from "./client.js";
import { el } from "./dom.js";
import { keep } from "./export.js";
import { problemWords } from "./problems.js";
import { momentWords, word } from "./words.js";

const dialog = () => document.getElementById("reader");

// Ask, erase, and show the receipt; `onErased()` is called when it is done.
export function openErasure(onErased) {
  const told = el("p", { class: "error", role: "alert" });
  const erase = async () => {
    button.disabled = true;
    try {
      const erased = await call("DELETE", "/users/me/data");
      onErased();
      showReceipt(erased);
    } catch (error) {
      told.textContent = problemWords(error);
      button.disabled = false;
    }
  };
  const button = el("button", { type: "button", class: "danger", onclick: erase }, word("eraseAll"));
  show(word("eraseMine"), [el("p", {}, word("eraseGoes")), el("p", {}, word("eraseStays")), told, el("p", {}, button)], word("cancel"));
}

function showReceipt({ conversations, files, remaining }) {
  const facts = {
    receiptWho: session.user, receiptWhen: momentWords(new Date().toISOString()), receiptConversations: conversations, receiptFiles: files, receiptLeft: remaining,
  };
  const list = el("dl", { class: "receipt" }, Object.entries(facts).flatMap(([key, value]) => [el("dt", {}, word(key)), el("dd", { "data-fact": key }, value)]));
  const text = () => [word("receipt"), "", ...Object.entries(facts).map(([key, value]) => `${word(key)}: ${value}`), "", word("receiptHint"), ""].join("\n");
  const save = () => keep(text(), `${word("receiptFile")}.txt`, "text/plain");
  show(word("receipt"), [list, el("p", { class: "fact" }, word("receiptHint")), el("p", {}, el("button", { type: "button", class: "quiet", onclick: save }, word("receiptSave")))], word("close"));
}

function show(title, body, closing) {
  const close = el("button", { type: "button", class: "quiet", onclick: () => dialog().close() }, closing);
  dialog().replaceChildren(el("header", {}, el("h2", {}, title), close), el("div", { class: "sheet" }, body));
  if (!dialog().open) dialog().showModal();
  close.focus();
}
