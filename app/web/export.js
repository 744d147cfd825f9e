// A conversation as a file: Markdown to read, JSON for programs. Both hold what its owner may see now, and no more.

import { call } from "./client.js";
import { turnsOf } from "./conversations.js";
import { asMarkdown } from "./markdown.js";
import { titlesOf } from "./titles.js";
import { momentWords, word } from "./words.js";

const AT_ONCE = 4; // answers asked for side by side
const MOST_TURNS = 500; // of a conversation are given by the API

// Keep conversation `id` among the person's downloads; `kind` is "md" or "json". Raises `ApiProblem`.
export async function exportConversation(id, kind) {
  const found = await call("GET", `/sessions/${id}`);
  const turns = turnsOf(found.messages ?? []);
  await inTurns(turns, async (turn) => { turn.result = await resultOf(turn); });
  const text = kind === "json" ? asJson(found, turns) : await asText(found, turns);
  keep(text, `${fileName(found.title)}.${kind}`, kind === "json" ? "application/json" : "text/markdown");
}

// Work through the items, a few at a time.
async function inTurns(items, work) {
  const rest = items.values();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => { for (const item of rest) await work(item); }));
}

// The whole answer with its evidence, where it is still there and was answered.
async function resultOf({ taskId, answer }) {
  if (answer === null || !taskId) return null;
  return call("GET", `/tasks/${taskId}`).then(({ result }) => (result?.answer ? result : null), () => null);
}

function asJson({ session_id, title, origin, created_at, updated_at }, turns) {
  const told = turns.map(({ question, asked, answer, taskId, result }) => ({ question, asked_at: asked, answer, task_id: taskId, ...(result && resultFields(result)) }));
  return JSON.stringify({ session_id, title, origin, created_at, updated_at, turns: told }, null, 2);
}

const resultFields = ({ outcome, confidence_score, evidence }) => ({ outcome, confidence_score, evidence });

async function asText({ title }, turns) {
  const parts = [`# ${title.replaceAll("\n", " ")}`];
  if (turns.length >= MOST_TURNS) parts.push(word("exportCut", { most: MOST_TURNS }));
  for (const { question, asked, answer, result } of turns) {
    if (asked) parts.push(`*${momentWords(asked)}*`);
    parts.push(asMarkdown(question, result ?? { answer: answer ?? word("noAnswer") }, [], await titlesOf(result?.evidence)).trim());
  }
  return `${parts.join("\n\n")}\n`;
}

const fileName = (title) => title.replace(/[^\p{L}\p{N} ._-]+/gu, " ").replace(/\s+/g, " ").replace(/^[. ]+|[. ]+$/g, "").slice(0, 80) || "conclave";

// Keep a text among the person's downloads.
export function keep(text, name, type) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}
