// A turn as Markdown, for mail and notes.

import { nameOf } from "./evidence.js";
import { dateWords, figure, percent, surenessOf, word, wordIn } from "./words.js";

// `titles` is Map address -> title.
export function asMarkdown(question, answer, conflicts, titles) {
  const parts = [`> ${question.replaceAll("\n", "\n> ")}`, answer.answer];
  const sureness = surenessOf(answer.outcome, answer.confidence_score);
  if (answer.outcome) parts.push(`**${wordIn("outcome", answer.outcome)}**${sureness ? ` · ${wordIn("sureness", sureness)} (${percent(answer.confidence_score)})` : ""}`);
  if (conflicts.length) parts.push(`### ${word("conflictHeading")}`, conflicts.map(conflictText).join("\n"));
  if (answer.evidence?.length) parts.push(`### ${word("evidence")}`, answer.evidence.map((item, index) => evidenceText(item, index + 1, nameOf(item.url, titles))).join("\n"));
  return `${parts.join("\n\n")}\n`;
}

function conflictText({ winner, loser, decided, margin }) {
  const sides = [winner, loser].map((side) => `${side.title}: ${side.claim || word("saysNothing")} (${figure(side.score)})`);
  const mark = decided ? `${word("holds")}: ` : "";
  return `- ${mark}${sides[0]}\n- ${decided ? `${word("givesWay")}: ` : ""}${sides[1]}\n- ${word("margin")} ${figure(margin)}`;
}

function evidenceText(item, number, name) {
  return `${number}. <${item.url}> (${name}, ${wordIn("scope", item.scope)}, ${dateWords(item.created_at)})`;
}

// Works without a secure context too, where browsers hide the clipboard.
export async function copyText(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const box = document.createElement("textarea");
  box.value = text;
  box.className = "unseen";
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
}
