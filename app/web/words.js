// The page's words in the language the person chose, and the little that turns values into words.

import { EN } from "./words-en.js";
import { VI } from "./words-vi.js";

const [SURE, LIKELY] = [0.8, 0.5];
const WORDS = { en: EN, vi: VI };

let language = localStorage.getItem("conclave.language")
  || (navigator.language && !navigator.language.toLowerCase().startsWith("vi") ? "en" : "vi");

export const currentLanguage = () => language;
const locale = () => (language === "vi" ? "vi-VN" : "en-GB");

// A word, with `{name}` filled in.
export function word(key, values = {}) {
  const text = WORDS[language][key] ?? key;
  return typeof text === "string" ? text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole) : text;
}

export function wordIn(group, key) {
  return WORDS[language][group]?.[key] ?? key;
}

// "1 step", "3 steps".
export function counted(key, number) {
  return word(number === 1 && WORDS[language][`${key}One`] ? `${key}One` : key, { number });
}

export function setLanguage(next) {
  language = next === "en" ? "en" : "vi";
  localStorage.setItem("conclave.language", language);
  document.documentElement.lang = language;
}

export function applyWords(root = document) {
  for (const node of root.querySelectorAll("[data-text]")) node.textContent = word(node.dataset.text);
  for (const node of root.querySelectorAll("[data-label]")) {
    node.setAttribute("aria-label", word(node.dataset.label));
    if (node.tagName === "BUTTON") node.title = word(node.dataset.label);
  }
  for (const node of root.querySelectorAll("[data-placeholder]")) node.placeholder = word(node.dataset.placeholder);
}

export function dateWords(iso) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return "";
  return moment.toLocaleDateString(locale(), { day: "numeric", month: "numeric", year: "numeric", timeZone: "UTC" });
}

// A moment of these days, by the reader's clock.
export function momentWords(iso) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return "";
  return moment.toLocaleString(locale(), { day: "numeric", month: "numeric", year: "numeric", hour: "2-digit", minute: "2-digit" });
}

// The hour of today, the day of any other.
export function recentWords(iso) {
  const moment = new Date(iso);
  if (moment.toDateString() !== new Date().toDateString()) return moment.toLocaleDateString(locale(), { day: "numeric", month: "numeric", year: "numeric" });
  return moment.toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit" });
}

// Why a run was stopped: what is said of a reason, or the reason itself.
export function stopWords(reason) {
  return WORDS[language].stopReason[reason] ?? word("stoppedBecause", { reason });
}

export function percent(share) {
  return `${Math.round(100 * share)} %`;
}

// A score or weight with two decimals, as the language writes it.
export function figure(value, digits = 2) {
  return value.toLocaleString(locale(), { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function spanWords(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return `${figure(milliseconds / 1000, 1)} s`;
}

// For a line that is glanced at: tenths of a second.
export function shortSpan(milliseconds) {
  return milliseconds < 50 ? spanWords(milliseconds) : `${figure(milliseconds / 1000, 1)} s`;
}

// How sure an answer is (0-1), in words: `sure`, `likely` or `check`; null where that says nothing. Two sources that
// contradict one another are never sure.
export function surenessOf(outcome, score) {
  if (score === undefined || ["not_found", "chitchat", "failed", "refused", "cancelled"].includes(outcome)) return null;
  return outcome === "conflict" || score < LIKELY ? "check" : score < SURE ? "likely" : "sure";
}

// A department as people write it: short names are acronyms.
export function departmentWords(name) {
  const told = wordIn("department", name);
  if (told !== name) return told;
  return name.length <= 2 ? name.toUpperCase() : name;
}

export function agentWords(agent) {
  const told = wordIn("agent", agent);
  return told === agent ? departmentWords(agent) : told;
}

export function toolWords(tool) {
  const told = wordIn("tool", tool);
  return told === tool ? tool.replace(/_tool$/, "").replaceAll("_", " ") : told;
}
