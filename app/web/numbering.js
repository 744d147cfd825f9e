// Citations for an answer that has none of its own. One that no language model wrote quotes documents word for word: what
// the agents said, and the titles it names, tell which evidence each of its lines was taken from.

import { spansOf, textOf } from "./blocks.js";
import { lastSentence, sentencesOf } from "./prose.js";

const CITED = /\[\d{1,3}(?:\s*[,;]\s*\d{1,3})*\]/;
const HEADING = /^\s*(?:#{1,6}\s|\*\*[^*]+\*\*\s*$)/;
const ITEM = /^\s*(?:[-*•]|\d{1,3}[.)])\s+/;
const ATTRIBUTION = /^[^“”:]{0,20}“([^”]+)”:\s*/; // Theo “…”: According to “…”:

// {text, behind}: the text with `[n]` at the end of each run of lines from one evidence; `behind` maps the sentence before
// such a mark to all sentences of its run. `quotes` is Map address -> sentences, `titles` Map address -> title.
export function numbered(text, evidence, quotes, titles) {
  const behind = new Map();
  if (!evidence?.length || CITED.test(text)) return { text, behind };
  const lines = attributed(text.split("\n"), evidence, quotes, titles);
  let run = [];
  const shown = lines.map(({ line, number, sentences }, index) => {
    if (number === null) return line;
    run.push(...sentences);
    if (lines[index + 1]?.number === number) return line;
    behind.set(lastSentence(plainOf(line)), run);
    run = [];
    return `${line} [${number}]`;
  });
  return { text: shown.join("\n"), behind };
}

// Each line with the number of its evidence, null where that is not certain.
function attributed(lines, evidence, quotes, titles) {
  const said = evidence.map(({ url }) => new Set(quotes.get(url) ?? []));
  const called = evidence.map(({ url }) => titles.get(url));
  const sourceOf = (sentence, named) => only(numbersOf(said, (from) => from.has(sentence)), named);
  let named = null; // the evidence the last attribution named; it holds until the next heading
  return lines.map((line) => {
    if (HEADING.test(line)) named = null;
    if (HEADING.test(line) || !line.trim()) return { line, number: null };
    const plain = plainOf(line);
    const attribution = ATTRIBUTION.exec(plain);
    if (attribution) named = only(numbersOf(called, (title) => title === attribution[1]));
    const sentences = sentencesOf(attribution ? plain.slice(attribution[0].length) : plain);
    if (sentences.length === 0) return { line, number: null };
    const held = new Set(sentences.map((sentence) => sourceOf(sentence, named)));
    const number = held.size === 1 ? [...held][0] : null;
    return { line, number: number ?? (attribution ? named : null), sentences };
  });
}

// Counted from 1.
function numbersOf(items, fits) {
  return items.flatMap((item, index) => (fits(item) ? [index + 1] : []));
}

// The one number there is, or the preferred one of several.
function only(numbers, preferred = null) {
  if (numbers.length === 1) return numbers[0];
  return numbers.includes(preferred) ? preferred : null;
}

// A line without the signs of Markdown.
export const plainOf = (line) => textOf(spansOf(line.replace(ITEM, ""))).trim();
