// Markdown of answers read into a closed tree; `prose.js` draws it. Tags, images, definitions and footnotes are plain text.
//
// Blocks: {kind: "paragraph", lines}, {kind: "heading", text}, {kind: "rule"}, {kind: "code", language, text},
// {kind: "quote", blocks}, {kind: "list", start, items: [[block]]}, {kind: "table", aligns, head, rows}; `start` is null
// for bullets. Spans: a string, or {kind: "strong" | "em" | "del", spans}, {kind: "code", text}, {kind: "link", spans,
// address}, {kind: "cite", numbers}, {kind: "break"}. Every block of the first level has `source`, the lines it stands in.

const MOST_DEPTH = 6; // quotes, lists and emphasis within one another; what lies deeper stays as it was written
const MOST_SPAN = 2000; // characters between two signs that belong together
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,30})[^`]*$/;
const HEADING = /^ {0,3}#{1,6}\s(.*)$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ITEM = /^([ \t]*)(?:([-*•+])|(\d{1,3})[.)])[ \t]+(.*)$/;
const BAR = /^:?-+:?$/;
const CITED_END = /\|\s*((?:\[\d{1,3}(?:\s*[,;]\s*\d{1,3})*\]\s*)+)$/;

export function blocksOf(text) {
  return read(text.replace(/\r\n?/g, "\n").split("\n"), 0);
}

function read(lines, depth) {
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    if (!lines[at].trim()) { at += 1; continue; }
    const reader = READERS.find(({ begins }) => begins(lines, at, depth)) ?? PARAGRAPH;
    const { end, ...block } = reader.read(lines, at, depth);
    blocks.push({ ...block, source: lines.slice(at, end).join("\n") });
    at = end;
  }
  return blocks;
}

const PARAGRAPH = {
  begins: () => true,
  read(lines, at, depth) {
    let end = at + 1;
    while (end < lines.length && lines[end].trim() && !READERS.some(({ begins }) => begins(lines, end, depth))) end += 1;
    return { kind: "paragraph", lines: lines.slice(at, end).map((line) => line.trim()), end };
  },
};

const CODE = {
  begins: (lines, at) => FENCE.test(lines[at]),
  read(lines, at) {
    const [, fence, language] = FENCE.exec(lines[at]);
    const closes = (line) => line.trim().startsWith(fence) && !line.trim().replaceAll(fence[0], "");
    let end = at + 1;
    while (end < lines.length && !closes(lines[end])) end += 1; // one that is not closed yet goes on to the end
    return { kind: "code", language, text: lines.slice(at + 1, end).join("\n"), end: Math.min(end + 1, lines.length) };
  },
};

const TITLE = {
  begins: (lines, at) => HEADING.test(lines[at]),
  read: (lines, at) => ({ kind: "heading", text: HEADING.exec(lines[at])[1].trim().replace(/ #+$/, ""), end: at + 1 }),
};

const LINE = {
  begins: (lines, at) => RULE.test(lines[at]),
  read: (_, at) => ({ kind: "rule", end: at + 1 }),
};

const QUOTED = {
  begins: (lines, at, depth) => depth < MOST_DEPTH && QUOTE.test(lines[at]),
  read(lines, at, depth) {
    let end = at;
    while (end < lines.length && QUOTE.test(lines[end])) end += 1;
    return { kind: "quote", blocks: read(lines.slice(at, end).map((line) => QUOTE.exec(line)[1]), depth + 1), end };
  },
};

// Whether a table begins at this line of several.
export const isTableHead = (lines, at) => lines[at].includes("|") && isBars(lines[at + 1]) && cellsOf(lines[at]).length === cellsOf(lines[at + 1]).length;

const TABLE = {
  begins: isTableHead,
  read(lines, at) {
    const head = cellsOf(lines[at]);
    const aligns = cellsOf(lines[at + 1]).map((bar) => (/:$/.test(bar) ? (/^:/.test(bar) ? "center" : "right") : "left"));
    let end = at + 2;
    while (end < lines.length && lines[end].includes("|") && !FENCE.test(lines[end])) end += 1;
    const rows = lines.slice(at + 2, end).map(cellsOf).map((cells) => head.map((_, column) => cells[column] ?? ""));
    return { kind: "table", aligns, head, rows, end };
  },
};

const isBars = (line) => line !== undefined && line.includes("|") && cellsOf(line).every((cell) => BAR.test(cell));

// The cells of a row. A citation behind the last bar belongs to the last cell.
export function cellsOf(line) {
  const inner = line.trim().replace(CITED_END, " $1").replace(/^\|/, "").replace(/(?<!\\)\|\s*$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll("\\|", "|").trim());
}

const LIST = {
  begins: (lines, at, depth) => depth < MOST_DEPTH && ITEM.test(lines[at]) && !RULE.test(lines[at]),
  read(lines, at, depth) {
    const [, indent, bullet, number] = ITEM.exec(lines[at]);
    const items = [];
    let end = at;
    for (let next = at; next < lines.length; next += 1) {
      const line = lines[next];
      const item = RULE.test(line) ? null : ITEM.exec(line);
      if (item && item[1].length <= indent.length + 1) {
        if (Boolean(item[2]) !== Boolean(bullet)) break;
        items.push([item[4]]);
      } else if (/^[ \t]/.test(line) && line.trim()) items.at(-1).push(line.replace(/^(?:\t| {1,4})/, "")); // the item goes on
      else if (line.trim()) break;
      else { items.at(-1).push(""); continue; }
      end = next + 1;
    }
    return { kind: "list", start: bullet ? null : Number(number), items: items.map((own) => read(own, depth + 1)), end };
  },
};

const READERS = [CODE, TITLE, LINE, QUOTED, TABLE, LIST];

// --- within a line ------------------------------------------------------------------------------------------------

const SIGN = /[\\`*_~[!<‹]|https?:\/\//g;
const CITATION = /\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]/y;
const LINK = /!?\[([^\][\n]{0,300})\]\(\s*<?((?:[^\s()<>]|\([^\s()<>]*\)){1,2000})>?(?:\s+"[^"\n]{0,300}")?\s*\)/y;
const ADDRESS = /https?:\/\/[^\s<>"'|`\\^{}[\]]{1,2000}/y;
const BREAK = /[<‹]br\s*\/?[>›]/iy;
const ESCAPED = /\\([!-/:-@[-`{-~])/y;
const LETTER = /[\p{L}\p{N}]/u;

// `isOpen`: more of the line may come, so bold words and code that were begun go on to its end.
export function spansOf(text, { isOpen = false } = {}, depth = 0) {
  const spans = [];
  let from = 0;
  SIGN.lastIndex = 0;
  for (let found = next(text, 0); found; found = next(text, found.next)) {
    const read = spanAt(text, found.index, found[0], isOpen, depth);
    found.next = read ? read.end : found.index + runOf(text, found.index);
    if (!read) continue;
    if (found.index > from) spans.push(text.slice(from, found.index));
    spans.push(read.span);
    from = read.end;
  }
  if (from < text.length) spans.push(text.slice(from));
  return spans;
}

function next(text, at) {
  SIGN.lastIndex = at;
  return SIGN.exec(text);
}

// How many of the same sign stand here: of a run that opens nothing, no part does.
function runOf(text, at) {
  let end = at + 1;
  while (end < text.length && text[end] === text[at] && "*_~`".includes(text[at])) end += 1;
  return end - at;
}

function spanAt(text, at, sign, isOpen, depth) {
  const match = (pattern) => { pattern.lastIndex = at; return pattern.exec(text); };
  const ending = (found, span) => found && { span: span(found), end: at + found[0].length };
  switch (sign) {
    case "\\": return ending(match(ESCAPED), ([, letter]) => letter);
    case "`": return codeAt(text, at, isOpen);
    case "[": return ending(match(CITATION), ([, numbers]) => ({ kind: "cite", numbers: numbers.split(/\s*[,;]\s*/).map(Number) })) ?? linkAt(match(LINK), at, depth);
    case "!": return linkAt(match(LINK), at, depth);
    case "<": case "‹": return ending(match(BREAK), () => ({ kind: "break" }));
    case "*": case "_": case "~": return emphasisAt(text, at, isOpen, depth);
    default: return addressAt(match(ADDRESS), at);
  }
}

function codeAt(text, at, isOpen) {
  const sign = "`".repeat(runOf(text, at));
  const begin = at + sign.length;
  let close = begin;
  do close = text.indexOf(sign, close + 1); while (close !== -1 && runOf(text, close) + (text[close - 1] === "`") !== sign.length);
  if (close === -1 && !isOpen) return null;
  const inner = text.slice(begin, close === -1 ? text.length : close);
  return { span: { kind: "code", text: /^ .*\S.* $/.test(inner) ? inner.slice(1, -1) : inner }, end: close === -1 ? text.length : close + sign.length };
}

function linkAt(found, at, depth) {
  if (!found || depth >= MOST_DEPTH) return null;
  const label = found[1].trim();
  return { span: { kind: "link", spans: label ? spansOf(label, {}, MOST_DEPTH) : [], address: found[2] }, end: at + found[0].length };
}

function addressAt(found, at) {
  if (!found) return null;
  const address = found[0].replace(/[.,;:!?*_~]+$/, "").replace(/\)$/, (end) => (found[0].includes("(") ? end : ""));
  return { span: { kind: "link", spans: [], address }, end: at + address.length };
}

// Words between two signs; a sign amid letters (2*3*4, file_name_2) opens and closes nothing but bold words.
function emphasisAt(text, at, isOpen, depth) {
  if (depth >= MOST_DEPTH) return null;
  const run = runOf(text, at);
  const size = text[at] === "~" ? 2 : Math.min(run, 2);
  const sign = text[at].repeat(size);
  const isBold = sign === "**";
  const begin = at + size;
  if (run < size || run > 3 || !/\S/.test(text[begin] ?? "") || (!isBold && LETTER.test(text[at - 1] ?? ""))) return null;
  const close = closingOf(text, begin, sign, isBold);
  if (close === -1 && !(isOpen && isBold)) return null;
  const inner = text.slice(begin, close === -1 ? text.length : close);
  const kind = size === 1 ? "em" : sign === "~~" ? "del" : "strong";
  return { span: { kind, spans: spansOf(inner, { isOpen }, depth + 1) }, end: close === -1 ? text.length : close + size };
}

function closingOf(text, begin, sign, isBold) {
  const last = Math.min(text.length, begin + MOST_SPAN);
  for (let close = text.indexOf(sign, begin + 1); close !== -1 && close < last; close = text.indexOf(sign, close + 1)) {
    const length = runOf(text, close);
    if (length > 2 && length > sign.length) close += length - sign.length; // of `***` the last ones close
    else if (length !== sign.length) { close += length - 1; continue; }
    if (/\S/.test(text[close - 1]) && (isBold || !LETTER.test(text[close + sign.length] ?? ""))) return close;
  }
  return -1;
}

// What a line says, without the signs of Markdown; citations stay.
export function textOf(spans) {
  return spans.map((span) => {
    if (typeof span === "string") return span;
    switch (span.kind) {
      case "code": return span.text;
      case "cite": return `[${span.numbers.join(", ")}]`;
      case "break": return " ";
      case "link": return span.spans.length ? textOf(span.spans) : span.address;
      default: return textOf(span.spans);
    }
  }).join("");
}
