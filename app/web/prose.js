// An answer's text as paragraphs, bold words, lists and citations. It makes no links and no images, whatever it says.

import { el } from "./dom.js";
import { word } from "./words.js";

const CITATION = /\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]/;

// `onCite(number, sentence)` is called when a citation is opened: evidence `number` (from 1), cited for `sentence`.
export function prose(text, onCite = null) {
  const root = document.createDocumentFragment();
  let list = null;
  let paragraph = null;
  for (const line of text.split("\n")) {
    const item = /^\s*(?:([-*•])|(\d{1,3})[.)])\s+(.*)$/.exec(line);
    if (item) {
      const tag = item[1] ? "ul" : "ol";
      if (list === null || list.tagName.toLowerCase() !== tag) {
        list = el(tag, item[2] ? { start: item[2] } : {});
        root.append(list);
      }
      list.append(el("li", {}, words(item[3], onCite)));
      paragraph = null;
    } else if (line.trim() === "") {
      paragraph = null;
    } else {
      list = null;
      const heading = /^#{1,6}\s+(.*)$/.exec(line);
      if (heading) root.append(el("h3", {}, words(heading[1], onCite)));
      else if (paragraph) paragraph.append(el("br"), ...words(line, onCite));
      else root.append((paragraph = el("p", {}, words(line, onCite))));
    }
  }
  return root;
}

function words(line, onCite) {
  const parts = line.split("**");
  const nodes = [];
  let said = "";
  parts.forEach((part, index) => {
    const cited = citations(part, onCite, said);
    said += part;
    if (index % 2) nodes.push(el("strong", {}, cited));
    else nodes.push(...cited);
  });
  return nodes;
}

// `[2]` and `[1, 3]` name evidence below the answer.
function citations(text, onCite, before) {
  const nodes = [];
  let said = before;
  let rest = text;
  for (let found = CITATION.exec(rest); found; found = CITATION.exec(rest)) {
    const plain = rest.slice(0, found.index);
    if (plain) nodes.push(plain);
    said += plain;
    const sentence = lastSentence(said);
    for (const number of found[1].split(/\s*[,;]\s*/)) nodes.push(citation(Number(number), sentence, onCite));
    rest = rest.slice(found.index + found[0].length);
  }
  if (rest) nodes.push(rest);
  return nodes;
}

function citation(number, sentence, onCite) {
  if (onCite === null) return el("sup", { class: "cite" }, String(number));
  const open = () => onCite(number, sentence);
  return el("button", { type: "button", class: "cite", "aria-label": `${word("evidence")} ${number}: ${word("openSource")}`, onclick: open }, String(number));
}

// What a citation at the end of this text stands behind.
export function lastSentence(text) {
  const plain = text.replace(/\[[\d\s,;]+\]/g, "").trim();
  const sentences = sentencesOf(plain);
  return sentences.length ? sentences[sentences.length - 1] : plain;
}

// Sentences of one line. A full stop inside a number or before a small letter ends none.
export function sentencesOf(line) {
  return line.match(/.+?(?:[.!?…](?=\s+[\p{Lu}\p{N}“"(])|$)/gu)?.map((part) => part.trim()).filter(Boolean) ?? [];
}
