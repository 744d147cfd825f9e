// The admin pages: who is here, which part is shown. What they show, the API gives to administrators alone; the audit to
// auditors, too.

import { applyAdminWords, say, sayIn } from "./admin-words.js";
import { ApiProblem, call, session } from "./client.js";
import { signOutByCookie } from "./company.js";
import { announce, el } from "./dom.js";
import { showSignIn, signInByLink } from "./signin.js";
import { setUpTheme } from "./theme.js";
import { currentLanguage, setLanguage } from "./words.js";

// Each is fetched when it is shown first.
const PARTS = {
  documents: async (room) => (await import("./admin-documents.js")).showDocuments(room),
  health: async (room) => (await import("./admin-health.js")).showHealth(room),
  conflicts: async (room) => (await import("./admin-conflicts.js")).showConflicts(room),
  tasks: async (room) => (await import("./admin-tasks.js")).showTasks(room),
  usage: async (room) => (await import("./admin-usage.js")).showUsage(room),
  performance: async (room) => (await import("./admin-performance.js")).showPerformance(room),
  evaluations: async (room) => (await import("./admin-evaluations.js")).showEvaluations(room),
  people: async (room) => (await import("./admin-people.js")).showPeople(room),
  agents: async (room) => (await import("./admin-agents.js")).showAgents(room),
  audit: async (room) => (await import("./admin-audit.js")).showAudit(room),
};
const PARTS_OF = { admin: Object.keys(PARTS), auditor: ["audit"] };
const $ = (id) => document.getElementById(id);
const state = { parts: [], shown: 0 };

function start() {
  setLanguage(currentLanguage());
  setUpTheme($("theme"));
  relabel();
  $("language").addEventListener("click", changeLanguage);
  $("sign-out").addEventListener("click", async () => { if (!await signOutByCookie()) await leave(); });
  addEventListener("hashchange", () => { if (state.parts.length) showPart(); });
  enter();
}

function closeSheet() {
  if ($("sheet").open) $("sheet").close();
}

function relabel() {
  applyAdminWords();
  $("language").textContent = currentLanguage() === "vi" ? "EN" : "VI";
}

async function changeLanguage() {
  setLanguage(currentLanguage() === "vi" ? "en" : "vi");
  relabel();
  closeSheet();
  if (session.token) await openRoom();
  else await showSignIn(openRoom);
}

async function enter() {
  await signInByLink();
  if (session.token) await openRoom();
  else await showSignIn(openRoom);
}

async function leave(message = "") {
  session.forget();
  state.parts = [];
  closeSheet();
  $("stage").replaceChildren();
  await showSignIn(openRoom, message);
}

// The server says who is an administrator or an auditor: nothing in the browser could.
async function openRoom() {
  try {
    const { roles } = await call("GET", "/auth/session");
    state.parts = PARTS_OF[["admin", "auditor"].find((role) => roles.includes(role))] ?? [];
  } catch (error) {
    await leave(error.status === 401 ? say("expired") : error instanceof ApiProblem ? error.message : say("offline"));
    return;
  }
  $("sign-in").hidden = true;
  $("room").hidden = false;
  $("sign-out").hidden = false;
  $("who").textContent = session.user;
  $("parts").hidden = !state.parts.length;
  if (state.parts.length) await showPart();
  else refuse();
}

function refuse() {
  $("stage").replaceChildren(el("section", { class: "refused" },
    el("h2", {}, say("notAdmin")), el("p", {}, say("notAdminHint")),
    el("button", { type: "button", onclick: () => leave() }, say("otherUser"))));
  announce(say("notAdmin"));
}

async function showPart() {
  const wanted = location.hash.slice(1);
  const part = state.parts.includes(wanted) ? wanted : state.parts[0];
  $("parts").replaceChildren(...state.parts.map((name) =>
    el("a", { href: `#${name}`, "aria-current": name === part ? "page" : null }, sayIn("part", name))));
  const room = el("div", { class: "part", "data-part": part }, el("p", { class: "fact", role: "status" }, say("loading")));
  $("stage").replaceChildren(room);
  const turn = ++state.shown;
  try {
    await PARTS[part](room);
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 401) { await leave(say("expired")); return; }
    if (turn !== state.shown) return;
    const reason = error instanceof ApiProblem ? error.message : say("offline");
    room.replaceChildren(el("p", { class: "error", role: "alert" }, say("failedTo", { reason })), el("button", { type: "button", onclick: showPart }, say("tryAgain")));
    if (!(error instanceof ApiProblem || error instanceof TypeError)) throw error;
  }
}

start();
