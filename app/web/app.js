// The page: who is here, which conversation is open, and asking.

import { ApiProblem, ask, call, follow, running, session } from "./client.js";
import { bodyOf, clearChoices, clearQuestion, editQuestion, setAgents, setUpComposer, showRunning, tell } from "./composer.js";
import { Conversations, turnsOf } from "./conversations.js";
import { signOutByCookie } from "./company.js";
import { announce, el } from "./dom.js";
import { plainOf } from "./numbering.js";
import { problemWords } from "./problems.js";
import { showSignIn, signInByLink } from "./signin.js";
import { setUpTheme } from "./theme.js";
import { forgetTitles } from "./titles.js";
import { PastTurn, Turn } from "./turn.js";
import { applyWords, currentLanguage, setLanguage, word, wordIn } from "./words.js";

const TURN_GAP_PX = 14;
const SCOPES = ["public", "internal", "private"]; // from the widest to the narrowest
const $ = (id) => document.getElementById(id);
const state = { sessionId: null, turn: null, turns: [] };
const conversations = new Conversations({
  onOpen: (id) => openSession(id), onRemoved: (id) => { if (state.sessionId === id) openNew(); }, onProblem: problem,
});

function start() {
  setLanguage(currentLanguage());
  setUpTheme($("theme"));
  setUpComposer({ onAsk: askQuestion, onStop: stop, lastQuestion: () => state.turns.at(-1)?.question });
  relabel();
  $("language").addEventListener("click", changeLanguage);
  $("menu").addEventListener("click", () => showSide(!$("side").classList.contains("open")));
  $("sign-out").addEventListener("click", signOut);
  $("account").addEventListener("click", async () => (await import("./account.js")).openAccount().catch(problem));
  $("erase").addEventListener("click", async () => (await import("./erasure.js")).openErasure(forgetAll));
  $("new-session").addEventListener("click", () => { if (!state.turn) { openNew(); showSide(false); $("question").focus(); } });
  addEventListener("keydown", (event) => { if (event.key === "Escape") showSide(false); });
  enter();
}

function relabel() {
  applyWords();
  $("language").textContent = currentLanguage() === "vi" ? "EN" : "VI";
  $("starters").replaceChildren(...word("starters").map((text) =>
    el("button", { type: "button", class: "chip", onclick: () => askQuestion(text) }, text)));
}

async function changeLanguage() {
  setLanguage(currentLanguage() === "vi" ? "en" : "vi");
  relabel();
  if (!session.token) { await showSignIn(openRoom); return; }
  await Promise.all([conversations.load(), showWho(), ...state.turns.filter((turn) => turn !== state.turn).map((turn) => turn.redraw())]);
}

function showSide(open) {
  $("side").classList.toggle("open", open);
  $("menu").setAttribute("aria-expanded", String(open));
}

// --- coming and going ---------------------------------------------------------------------------------------------

async function enter() {
  await signInByLink();
  if (session.token) await openRoom();
  else await showSignIn(openRoom);
}

async function signOut() {
  if (await signOutByCookie()) return;
  session.forget();
  $("administration").hidden = $("desk").hidden = true;
  forgetTitles(); // another person may not read the same
  conversations.clear();
  openNew();
  await showSignIn(openRoom);
}

async function showWho() {
  const { agents, permissions, roles } = await call("GET", "/agents");
  $("administration").hidden = !roles.includes("admin") && !roles.includes("auditor");
  $("desk").hidden = !roles.includes("admin") && !roles.includes("owner");
  $("account").hidden = !session.isByCookie;
  setAgents(agents);
  const held = SCOPES.filter((scope) => permissions.includes(scope));
  $("who").textContent = [session.user, held.map((scope) => wordIn("scope", scope)).join(", ")].filter(Boolean).join(" · ");
}

async function openRoom() {
  const [run, id] = [running.kept, location.hash.slice(1)]; // as they were left: a question may be asked before all is loaded
  try {
    await showWho();
  } catch (error) {
    await problem(error);
    return;
  }
  $("sign-in").hidden = true;
  $("room").hidden = false;
  $("sign-out").hidden = false;
  $("question").focus();
  await Promise.all([conversations.load(), comeBack(id, run)]);
}

// After a reload: the conversation that was open, and the answer that was being waited for.
async function comeBack(id, run) {
  if (/^[0-9a-f-]{36}$/.test(id)) await openSession(id, run?.taskId);
  if (run !== null && !state.turn) await listen(new Turn(run.query, handlersFor(run.query)), (onLost) => follow(run.taskId, onLost), word("resumed"));
}

async function problem(error) {
  if (error instanceof ApiProblem && error.status === 401) {
    session.forget();
    await showSignIn(openRoom, word("expired"));
    return;
  }
  const told = problemWords(error);
  announce(told);
  if (!session.token || $("room").hidden) await showSignIn(openRoom, told);
}

// --- conversations ------------------------------------------------------------------------------------------------

// Show a conversation; the run `except` is left to be followed from its beginning.
async function openSession(id, except = null) {
  if (state.turn) return;
  try {
    const found = await call("GET", `/sessions/${id}`);
    if (state.turn) return; // a question was asked meanwhile
    openNew();
    takeSession(id);
    const told = turnsOf(found.messages ?? []).filter(({ taskId }) => taskId !== except || taskId === null);
    addTurns(told.map(({ question, answer, taskId }) => new PastTurn(question, answer, taskId, handlersFor(question))));
    showSide(false);
    const last = state.turns.at(-1);
    if (last) showTurn(last);
    await last?.unfold();
    if (last && last === state.turns.at(-1)) showTurn(last);
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) openNew();
    else await problem(error);
  }
}

function takeSession(id) {
  state.sessionId = id;
  history.replaceState(null, "", id ? `#${id}` : location.pathname);
  conversations.mark(id);
}

function openNew() {
  takeSession(null);
  for (const turn of state.turns) turn.node.remove();
  state.turns = [];
  clearChoices();
  $("welcome").hidden = false;
}

// All of the person's conversations are gone.
function forgetAll() {
  if (!state.turn) openNew(); // else the run that was lost says so itself
  conversations.load();
}

function addTurns(turns) {
  if (turns.length) $("welcome").hidden = true;
  state.turns.push(...turns);
  $("turns").append(...turns.map(({ node }) => node));
}

// --- asking -------------------------------------------------------------------------------------------------------

const handlersFor = (question) => ({ onAsk: askQuestion, onRetry: () => askQuestion(question), onEdit: () => editQuestion(question) });

async function askQuestion(text) {
  const query = text.trim();
  if (!query || state.turn) return;
  const { body, refusal } = bodyOf(query);
  tell(refusal);
  if (!body) return;
  if (state.sessionId) body.session_id = state.sessionId;
  clearQuestion();
  await listen(new Turn(query, handlersFor(query)), (onLost) => ask(body, onLost));
}

// Show a turn and feed it the events of its run until the end.
async function listen(turn, events, told = null) {
  begin(turn);
  if (told) turn.work.say(told);
  try {
    for await (const event of events(() => turn.lost())) {
      if (event.type === "task_available") {
        running.keep({ taskId: event.data.task_id, sessionId: event.data.session_id, query: turn.question });
        takeSession(event.data.session_id);
      }
      await turn.take(event);
    }
    announce(turn.text.split("\n").map(plainOf).join("\n"));
  } catch (error) {
    turn.refused(problemWords(error));
    if (error instanceof ApiProblem && error.status === 401) await problem(error);
  } finally {
    end();
  }
}

function begin(turn) {
  state.turn = turn;
  addTurns([turn]);
  for (const other of $("turns").querySelectorAll(".current")) other.classList.remove("current");
  turn.node.classList.add("current"); // as high as the window: the answer grows below without moving what is read
  showTurn(turn);
  showRunning(true);
  $("turns").setAttribute("aria-busy", "true");
}

function showTurn(turn) {
  const turns = $("turns");
  turns.scrollTo({ top: turns.scrollTop + turn.node.getBoundingClientRect().top - turns.getBoundingClientRect().top - TURN_GAP_PX });
}

function end() {
  if (state.turn.language !== currentLanguage()) state.turn.redraw();
  state.turn = null;
  running.forget();
  showRunning(false);
  $("turns").removeAttribute("aria-busy");
  $("question").focus({ preventScroll: true });
  if (session.token) conversations.load();
}

async function stop() {
  const taskId = state.turn?.taskId;
  if (!taskId) return;
  try {
    await call("POST", `/tasks/${taskId}/cancel`);
  } catch (error) {
    announce(problemWords(error));
  }
}

start();
