// Signing in: at one's company, with a password, as a demo user with one click, with an access token otherwise.

import { ApiProblem, call, session } from "./client.js";
import { companyButtons, refusal, signInByCookie } from "./company.js";
import { el } from "./dom.js";
import { problemWords } from "./problems.js";
import { departmentWords, word, wordIn } from "./words.js";

const LINK = /^#(?:link|first)=([\w-]{20,})$/; // with which somebody sets a password
let notIn = ""; // why a sign-in link did not let in
addEventListener("hashchange", () => { if (LINK.test(location.hash)) location.reload(); });
const $ = (id) => document.getElementById(id);

// Show the sign-in page; `onEntered()` is called with a token kept.
export async function showSignIn(onEntered, message = "") {
  $("room").hidden = true;
  $("sign-out").hidden = true;
  $("who").textContent = "";
  $("sign-in").hidden = false;
  $("sign-in-error").textContent = message || notIn || refusal();
  notIn = "";
  $("token-form").onsubmit = (event) => {
    event.preventDefault();
    session.keep($("token").value.trim(), "");
    $("token").value = "";
    onEntered();
  };
  const buttons = companyButtons().catch(() => []);
  const form = await import("./local.js").then(({ passwordForm }) => passwordForm(onEntered)).catch(() => null);
  $("providers").replaceChildren(...(form ? [form] : []), ...await buttons);
  try {
    const users = await call("GET", "/auth/dev", undefined, withKey());
    $("demo-users").replaceChildren(...users.map((user) => personNode(user, onEntered)));
  } catch (error) {
    $("demo-users").replaceChildren(el("p", { class: "fact" }, error instanceof ApiProblem ? word("noDemo") : word("offline")));
  }
}

function personNode(user, onEntered) {
  const enter = async () => { if (await signInAs(user.user)) await onEntered(); };
  const roles = [...user.permissions.map((scope) => wordIn("scope", scope)), ...user.roles];
  return el("button", { type: "button", class: "person", onclick: enter },
    el("b", {}, user.user), el("span", {}, `${user.name} · ${departmentWords(user.department)}`), el("span", { class: "fact" }, roles.join(", ")));
}

const withKey = () => ({ "Conclave-Demo-Key": session.key });

// Follow a sign-in link, if the page was opened by one; its key leaves the address at once. Else a cookie may do.
export async function signInByLink() {
  const link = LINK.exec(location.hash)?.[1];
  if (link) {
    history.replaceState(null, "", location.pathname);
    notIn = await (await import("./local.js")).followLink(link);
    return;
  }
  const asked = new URLSearchParams(location.search);
  if (!asked.has("as") && !asked.has("key")) { await signInByCookie(); return; }
  history.replaceState(null, "", location.pathname + location.hash);
  session.key = asked.get("key") ?? "";
  if (asked.has("as")) await signInAs(asked.get("as"));
}

async function signInAs(user) {
  try {
    session.keep((await call("POST", "/auth/dev", { user }, withKey())).token, user);
    return true;
  } catch (error) {
    const isUnknown = error.status === 404 && session.key !== ""; // without a key nobody is offered, which is told below
    notIn = isUnknown ? word("noSuchUser", { user }) : error.status === 404 ? "" : problemWords(error);
    $("sign-in-error").textContent = notIn;
    return false;
  }
}
