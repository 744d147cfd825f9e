// The words of the admin pages, beside those they share with the chat page.

import { EN } from "./admin-words-en.js";
import { VI } from "./admin-words-vi.js";
import { applyWords, currentLanguage, dateWords, word } from "./words.js";

const WORDS = { en: EN, vi: VI };

// A word of these pages with `{name}` filled in; of the chat page where these have none.
export function say(key, values = {}) {
  const text = WORDS[currentLanguage()][key];
  return text === undefined ? word(key, values) : text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

export function sayIn(group, key) {
  return WORDS[currentLanguage()][group]?.[key] ?? key;
}

export function applyAdminWords() {
  applyWords();
  for (const node of document.querySelectorAll("[data-admin]")) node.textContent = say(node.dataset.admin);
  for (const node of document.querySelectorAll("[data-admin-label]")) node.setAttribute("aria-label", say(node.dataset.adminLabel));
  document.title = `Conclave · ${say("title")}`;
}

// "from 1/3/2026 to 31/12/2026", or that there is no limit.
export function daysWords(from, to) {
  if (from && to) return say("fromTo", { from: dateWords(from), to: dateWords(to) });
  if (from) return say("fromDay", { from: dateWords(from) });
  return to ? say("toDay", { to: dateWords(to) }) : say("always");
}

export function momentWords(iso) {
  const moment = new Date(iso);
  const locale = currentLanguage() === "vi" ? "vi-VN" : "en-GB";
  return moment.toLocaleString(locale, { day: "numeric", month: "numeric", year: "numeric", hour: "2-digit", minute: "2-digit" });
}

export function sizeWords(bytes) {
  return bytes < 1024 ? `${bytes} B` : bytes < 1048576 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`;
}

export function whole(number) {
  return number.toLocaleString(currentLanguage() === "vi" ? "vi-VN" : "en-GB");
}

// How long ago: "12 s", "5 min", "3 h", "2 days".
export function spanSince(iso) {
  const seconds = Math.max(0, (Date.now() - new Date(iso)) / 1000);
  const [unit, value] = seconds < 60 ? ["second", seconds] : seconds < 3600 ? ["minute", seconds / 60] : seconds < 172_800 ? ["hour", seconds / 3600] : ["day", seconds / 86_400];
  return new Intl.NumberFormat(currentLanguage() === "vi" ? "vi-VN" : "en-GB", { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 0 }).format(Math.floor(value));
}
