// Text as people write it: an answer's Markdown drawn as elements. Text only ever becomes text nodes; nothing is an image.

import { announce, el, link, ownFile, safeAddress } from "./dom.js";
import { icon } from "./icons.js";
import { blocksOf, spansOf, textOf } from "./blocks.js";
import { copyText } from "./markdown.js";
import { word } from "./words.js";

const FORMULA = /^(?:[=+@\t\r]|-(?![\d.,\s]+%?$))/; // what a spreadsheet would compute
const CITED = /\s*\[[\d\s,;]+\]/g;

// `onCite(number, sentence)` is called when a citation is opened: evidence `number` (from 1), cited for `sentence`. Only
// addresses in `addresses` become links: those of the evidence.
export function prose(text, { onCite = null, addresses = new Set() } = {}) {
  const root = document.createDocumentFragment();
  root.append(...blocksOf(text).map((block) => blockNode(block, { onCite, addresses })));
  return root;
}

// A box whose text grows: what is finished in it stays, only its last block is drawn anew.
export class GrowingProse {
  constructor(box) { Object.assign(this, { box, drawn: [] }); }

  write(text) {
    const blocks = blocksOf(withoutHalfTable(text));
    const same = blocks.findIndex(({ source }, index) => source !== this.drawn[index]?.source);
    const kept = same === -1 ? blocks.length : same;
    for (const { node } of this.drawn.splice(kept)) node.remove();
    for (const block of blocks.slice(kept)) {
      const node = blockNode(block, { onCite: null, addresses: new Set(), isOpen: block === blocks.at(-1) });
      this.drawn.push({ source: block.source, node });
      this.box.append(node);
    }
  }
}

// A table's first line is not shown before the whole second one tells that it is a table.
function withoutHalfTable(text) {
  const lines = text.trimEnd().split("\n");
  const bars = (line) => (/^\s*\|/.test(line ?? "") ? line.split("|").length : 0);
  const last = lines.length - 1;
  if (!bars(lines[last])) return text;
  if (!bars(lines[last - 1])) return lines.slice(0, last).join("\n");
  const isHalf = !bars(lines[last - 2]) && bars(lines[last]) < bars(lines[last - 1]) && /^[\s:|-]*$/.test(lines[last]);
  return isHalf ? lines.slice(0, last - 1).join("\n") : text;
}

function blockNode(block, context) {
  const inner = (blocks) => blocks.map((one) => blockNode(one, context));
  switch (block.kind) {
    case "heading": return el("h3", {}, lineNodes(block.text, context));
    case "rule": return el("hr");
    case "code": return codeNode(block);
    case "quote": return el("blockquote", {}, inner(block.blocks));
    case "list": return el(block.start === null ? "ul" : "ol", { start: block.start }, block.items.map((item) => el("li", {}, itemNodes(item, context))));
    case "table": return tableNode(block, context);
    default: return el("p", {}, paragraphNodes(block, context));
  }
}

const paragraphNodes = ({ lines }, context) => lines.flatMap((line, index) => [...(index ? [el("br")] : []), ...lineNodes(line, context)]);

// The first paragraph of an item stands beside its sign.
function itemNodes([first, ...rest], context) {
  if (first === undefined) return [];
  return [...(first.kind === "paragraph" ? paragraphNodes(first, context) : [blockNode(first, context)]), ...rest.map((block) => blockNode(block, context))];
}

function lineNodes(line, context, sentence = null) {
  return spanNodes(spansOf(line, context), { ...context, sentence, said: "" });
}

// `context.said` is the line's text so far: a citation stands behind its last sentence.
function spanNodes(spans, context) {
  return spans.flatMap((span) => {
    if (span.kind === "cite") return span.numbers.map((number) => citation(number, context));
    const node = spanNode(span, context);
    if (typeof span === "string" || span.kind === "code") context.said += textOf([span]);
    return [node];
  });
}

function spanNode(span, context) {
  if (typeof span === "string") return span;
  switch (span.kind) {
    case "code": return el("code", {}, span.text);
    case "break": return el("br");
    case "link": return linkNode(span, context);
    default: return el(span.kind, {}, spanNodes(span.spans, context));
  }
}

// An address that is no evidence's is shown as text, so that nobody is led to what a label hides.
function linkNode({ spans, address }, context) {
  const isKnown = context.addresses.has(address) || context.addresses.has(address.split("#page=")[0]);
  const label = spans.length ? spanNodes(spans, context) : [address];
  if (!spans.length) context.said += address;
  if (isKnown && safeAddress(address)) return link(address, label);
  return el("span", {}, label, spans.length && ownFile(address) === null ? ` (${address})` : null);
}

function citation(number, { onCite, said, sentence }) {
  if (onCite === null) return el("sup", { class: "cite" }, String(number));
  const open = () => onCite(number, sentence ?? lastSentence(said));
  return el("button", { type: "button", class: "cite", "aria-label": `${word("evidence")} ${number}: ${word("openSource")}`, onclick: open }, String(number));
}

function tableNode({ aligns, head, rows }, context) {
  const cells = (tag, row) => row.map((cell, column) => el(tag, { class: aligns[column] === "left" ? null : aligns[column], scope: tag === "th" ? "col" : null }, lineNodes(cell, context, sayingOf(row))));
  const table = el("table", {}, el("thead", {}, el("tr", {}, cells("th", head))), el("tbody", {}, rows.map((row) => el("tr", {}, cells("td", row)))));
  return el("figure", { class: "table" }, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": word("table") }, table),
    copyButton("copyTable", () => asCsv([head, ...rows])));
}

// A row as one sentence: what a citation in any of its cells stands behind.
const sayingOf = (row) => row.map(plainCell).filter(Boolean).join(" ");
const plainCell = (cell) => textOf(spansOf(cell)).replace(CITED, "").trim();

// Comma-separated values (RFC 4180). A cell that a spreadsheet would compute is written as text.
export function asCsv(rows) {
  const cell = (text) => `"${(FORMULA.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  return rows.map((row) => row.map(plainCell).map(cell).join(",")).join("\r\n");
}

function codeNode({ language, text }) {
  return el("figure", { class: "code" }, el("pre", { tabindex: "0", role: "region", "aria-label": language || word("code") }, el("code", {}, text)), copyButton("copyCode", () => text));
}

function copyButton(key, text) {
  const copy = async () => { await copyText(text()); announce(word("copied")); button.classList.add("done"); button.lastChild.textContent = word("copied"); };
  const button = el("button", { type: "button", class: "quiet copy", onclick: copy }, icon("copy"), el("span", {}, word(key)));
  return button;
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
