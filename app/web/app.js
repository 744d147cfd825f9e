// The page: signing in, the list of conversations, and asking.

import { ApiProblem, ask, call, session } from "./client.js";
import { el } from "./dom.js";
import { Turn, pastTurn } from "./turn.js";
import { applyWords, currentLanguage, dateWords, setLanguage, word } from "./words.js";

const $ = (id) => document.getElementById(id);
const state = { sessionId: null, running: null, cursor: null };

function start() {
  setLanguage(currentLanguage());
  setTheme(localStorage.getItem("conclave.theme"));
  relabel();
  $("language").addEventListener("click", () => { setLanguage(currentLanguage() === "vi" ? "en" : "vi"); relabel(); });
  $("theme").addEventListener("click", toggleTheme);
  $("menu").addEventListener("click", () => showSide(!$("side").classList.contains("open")));
  $("sign-out").addEventListener("click", signOut);
  $("token-form").addEventListener("submit", useToken);
  $("new-session").addEventListener("click", () => { openNew(); showSide(false); $("question").focus(); });
  $("more-sessions").addEventListener("click", () => loadSessions(state.cursor));
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); askQuestion($("question").value); });
  $("question").addEventListener("input", fitQuestion);
  $("question").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); $("ask").requestSubmit(); }
  });
  $("stop").addEventListener("click", stop);
  enter();
}

function relabel() {
  applyWords();
  $("language").textContent = currentLanguage() === "vi" ? "EN" : "VI";
  $("starters").replaceChildren(...word("starters").map((text) =>
    el("button", { type: "button", class: "chip", onclick: () => askQuestion(text) }, text)));
}

function setTheme(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function toggleTheme() {
  const isDark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  localStorage.setItem("conclave.theme", isDark ? "light" : "dark");
  setTheme(isDark ? "light" : "dark");
}

function showSide(open) {
  $("side").classList.toggle("open", open);
  $("menu").setAttribute("aria-expanded", String(open));
}

// --- signing in ---------------------------------------------------------------------------------------------------

async function enter() {
  const wanted = new URLSearchParams(location.search).get("as");
  if (wanted) {
    history.replaceState(null, "", location.pathname);
    await signInAs(wanted);
  }
  if (session.token) await openRoom();
  else await showSignIn();
}

async function showSignIn(message = "") {
  $("room").hidden = true;
  $("sign-out").hidden = true;
  $("who").textContent = "";
  $("sign-in").hidden = false;
  $("sign-in-error").textContent = message;
  try {
    const users = await call("GET", "/auth/dev");
    $("demo-users").replaceChildren(...users.map((user) =>
      el("button", { type: "button", class: "person", onclick: async () => { await signInAs(user.user); if (session.token) await openRoom(); } },
        el("b", {}, user.user), el("span", {}, `${user.name} · ${user.department}`),
        el("span", { class: "fact" }, [...user.permissions, ...user.roles].join(", ")))));
  } catch (error) {
    $("demo-users").replaceChildren(el("p", {}, error instanceof ApiProblem ? word("noDemo") : word("offline")));
  }
}

async function signInAs(user) {
  try {
    session.keep((await call("POST", "/auth/dev", { user })).token, user);
  } catch (error) {
    $("sign-in-error").textContent = error.message;
  }
}

async function useToken(event) {
  event.preventDefault();
  session.keep($("token").value.trim(), "");
  $("token").value = "";
  await openRoom();
}

async function signOut() {
  session.forget();
  openNew();
  await showSignIn();
}

async function openRoom() {
  try {
    const agents = await call("GET", "/agents");
    $("who").textContent = [session.user, agents.permissions.join(", ")].filter(Boolean).join(" · ");
  } catch (error) {
    await problem(error);
    return;
  }
  $("sign-in").hidden = true;
  $("room").hidden = false;
  $("sign-out").hidden = false;
  $("question").focus();
  await loadSessions(null);
}

async function problem(error) {
  if (error instanceof ApiProblem && error.status === 401) {
    session.forget();
    await showSignIn(word("expired"));
    return;
  }
  $("announce").textContent = error instanceof ApiProblem ? error.message : word("offline");
  if (!session.token || $("room").hidden) await showSignIn($("announce").textContent);
}

// --- conversations ------------------------------------------------------------------------------------------------

async function loadSessions(cursor) {
  try {
    const page = await call("GET", cursor ? `/sessions?cursor=${encodeURIComponent(cursor)}` : "/sessions");
    const items = page.sessions.map(sessionNode);
    if (cursor) $("sessions").append(...items);
    else $("sessions").replaceChildren(...items);
    state.cursor = page.next_cursor;
    $("more-sessions").hidden = !page.next_cursor;
  } catch (error) {
    await problem(error);
  }
}

function sessionNode(item) {
  return el("li", { "aria-current": item.session_id === state.sessionId ? "true" : null },
    el("button", { type: "button", class: "session", onclick: () => openSession(item.session_id) },
      el("span", {}, item.title || "…"), el("span", { class: "fact" }, dateWords(item.updated_at))),
    el("button", { type: "button", class: "icon", "aria-label": `${word("remove")}: ${item.title}`, onclick: () => removeSession(item.session_id) }, "×"));
}

async function openSession(id) {
  if (state.running) return;
  try {
    const found = await call("GET", `/sessions/${id}`);
    openNew();
    state.sessionId = id;
    $("welcome").hidden = true;
    for (const [question, answer] of pairs(found.messages ?? [])) $("turns").append(pastTurn(question, answer));
    showSide(false);
    await loadSessions(null);
    $("turns").lastElementChild?.scrollIntoView({ block: "end" });
  } catch (error) {
    await problem(error);
  }
}

function pairs(messages) {
  const turns = [];
  for (const message of messages) {
    if (message.role === "user") turns.push([message.content, null]);
    else if (turns.length) turns[turns.length - 1][1] = message.content;
  }
  return turns;
}

async function removeSession(id) {
  if (!confirm(word("removeAsk"))) return;
  try {
    await call("DELETE", `/sessions/${id}`);
    if (state.sessionId === id) openNew();
    await loadSessions(null);
  } catch (error) {
    await problem(error);
  }
}

function openNew() {
  state.sessionId = null;
  for (const turn of [...document.querySelectorAll(".turn")]) turn.remove();
  $("welcome").hidden = false;
}

// --- asking -------------------------------------------------------------------------------------------------------

async function askQuestion(text) {
  const query = text.trim();
  if (!query || state.running) return;
  const turn = new Turn(query, askQuestion);
  state.running = { turn, taskId: null };
  begin(turn);
  try {
    const body = state.sessionId ? { query, session_id: state.sessionId } : { query };
    for await (const event of ask(body, () => turn.lost())) {
      if (event.type === "task_available") {
        state.running.taskId = event.data.task_id;
        state.sessionId = event.data.session_id;
      }
      turn.take(event);
      follow(turn);
    }
    $("announce").textContent = turn.text;
  } catch (error) {
    turn.refused(error instanceof ApiProblem ? error.message : word("offline"));
    if (error instanceof ApiProblem && error.status === 401) await problem(error);
  } finally {
    end();
  }
}

function begin(turn) {
  $("welcome").hidden = true;
  $("turns").append(turn.node);
  turn.node.scrollIntoView({ block: "start" });
  $("question").value = "";
  fitQuestion();
  $("send").hidden = true;
  $("stop").hidden = false;
  $("turns").setAttribute("aria-busy", "true");
}

function end() {
  state.running = null;
  $("send").hidden = false;
  $("stop").hidden = true;
  $("turns").removeAttribute("aria-busy");
  $("question").focus();
  if (session.token) loadSessions(null);
}

async function stop() {
  if (!state.running?.taskId) return;
  try {
    await call("POST", `/tasks/${state.running.taskId}/cancel`);
  } catch (error) {
    $("announce").textContent = error.message;
  }
}

function follow(turn) {
  const turns = $("turns");
  if (turns.scrollHeight - turns.scrollTop - turns.clientHeight < 240) turn.node.scrollIntoView({ block: "end" });
}

function fitQuestion() {
  const box = $("question");
  box.rows = Math.min(6, Math.max(1, box.value.split("\n").length));
}

start();
