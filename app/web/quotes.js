// Finding the quoted words in a document: exactly where they stand as they are, else the sentences most like them.

import { sentencesOf } from "./prose.js";

const ALIKE = 0.6; // share of words two sentences must have in common
const FEW_WORDS = 3; // shorter sentences are only found word for word

// {lines: [{line, parts: [{text, isQuoted}]}], score}: the document's lines, each in its sentences, and how well the best
// of them is what was quoted (0-1). A quote that stands there as it is marks nothing that is merely like it.
export function marked(text, quotes) {
  const wanted = quotes.map(tokensOf).filter((tokens) => tokens.length > 0);
  const lines = text.split("\n").map((line) => ({
    line,
    parts: sentencesOf(line).map((sentence) => {
      const tokens = tokensOf(sentence);
      return { text: sentence, scores: wanted.map((quote) => likeness(tokens, quote)) };
    }),
  }));
  const parts = lines.flatMap((line) => line.parts);
  const best = wanted.map((_, index) => Math.max(0, ...parts.map(({ scores }) => scores[index])));
  for (const part of parts) part.isQuoted = part.scores.some((score, index) => score >= Math.max(ALIKE, best[index]));
  return { lines, score: Math.max(0, ...best) };
}

function tokensOf(text) {
  return text.normalize("NFC").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

// How much a sentence is what was quoted (0-1). One that holds the whole quote is; one that is a small part of it is not.
function likeness(sentence, quote) {
  const shorter = Math.min(sentence.length, quote.length);
  if (shorter === 0) return 0;
  const [one, other] = [` ${sentence.join(" ")} `, ` ${quote.join(" ")} `];
  if (shorter >= FEW_WORDS && (one.includes(other) || (2 * sentence.length >= quote.length && other.includes(one)))) return 1;
  if (shorter < FEW_WORDS) return 0;
  const words = new Set(quote);
  const shared = new Set(sentence.filter((word) => words.has(word))).size;
  return shared / Math.max(new Set(sentence).size, words.size);
}
