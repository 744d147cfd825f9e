// Passwords kept here: the form of the sign-in page, and what a link opens. A link stands behind # of the address, which the
// browser sends nowhere; from there it goes into the body of one request.

import { accountWord } from "./account-words.js";
import { ApiProblem, call, session } from "./client.js";
import { el } from "./dom.js";
import { problemWords } from "./problems.js";
import { currentLanguage } from "./words.js";

export const LEAST_CHARS = 12;

// The form for name and password, or null where people have none; `onEntered()` is called with the sign-in kept.
export async function passwordForm(onEntered) {
  const { is_on: isOn } = await call("GET", "/auth/local");
  if (!isOn) return null;
  const user = input("sign-in-user", { autocomplete: "username", maxlength: 200, required: true, autocapitalize: "none", spellcheck: "false" });
  const password = secret("sign-in-password", "current-password");
  const code = codeInput("sign-in-code", {});
  return form([labelled("userName", user), labelled("password", password), labelled("code", code, "codeHint")], "enter", async () => {
    await keep(await call("POST", "/auth/local", { user: user.value.trim(), password: password.value, code: code.value.replaceAll(" ", "") }));
    await onEntered();
  });
}

// Let whoever has a link set a password; resolves when that is done, or when the link is no good, with what to tell.
export async function followLink(link) {
  session.forget();
  let guest;
  try {
    guest = await call("POST", "/auth/link", { link });
  } catch (error) { return error instanceof ApiProblem && error.status === 404 ? accountWord("linkGone") : problemWords(error); }
  return new Promise((resolve) => {
    const page = document.getElementById("sign-in");
    const node = el("section", { class: "by-link" }, ...(guest.is_first ? founderNodes : guestNodes)(guest, link, () => { node.remove(); page.classList.remove("opened-by-link"); resolve(""); }));
    page.append(node);
    page.classList.add("opened-by-link");
    page.hidden = false;
    node.querySelector("input:not([readonly])").focus();
  });
}

function guestNodes(guest, link, onDone) {
  const user = input("link-user", { autocomplete: "username", readonly: true, value: guest.user });
  const [password, again] = newPasswords();
  return [
    el("h2", {}, accountWord("welcomeTo", { company: guest.companies[0] })), el("p", {}, accountWord("linkHint", { name: guest.name || guest.user })),
    form([labelled("userName", user), labelled("newPassword", password, "passwordHint"), labelled("again", again)], "setPassword", async () => {
      checkSame(password, again);
      await keep(await call("PUT", "/auth/link", { link, password: password.value }));
      onDone();
    }),
  ];
}

function founderNodes(guest, link, onDone) {
  const known = guest.companies;
  const company = known.length ? el("select", { id: "link-company" }, known.map((one) => el("option", {}, one)))
    : input("link-company", { autocomplete: "organization", required: true, pattern: "[a-z0-9][a-z0-9_\\-]{0,63}", maxlength: 64, autocapitalize: "none", spellcheck: "false" });
  const user = input("link-user", { autocomplete: "username", required: true, maxlength: 200, pattern: "[^\\/\\s]([^\\/]*[^\\/\\s])?", autocapitalize: "none", spellcheck: "false" });
  const name = input("link-name", { autocomplete: "name", maxlength: 200 });
  const [password, again] = newPasswords();
  return [
    el("h2", {}, accountWord("first")), el("p", {}, accountWord("firstHint")),
    form([
      labelled("company", company, known.length ? null : "companyHint"), labelled("userName", user, "userHint"), labelled("fullName", name),
      labelled("newPassword", password, "passwordHint"), labelled("again", again),
    ], "begin", async () => {
      checkSame(password, again);
      await keep(await call("PUT", "/auth/link", {
        link, password: password.value, company: company.value.trim(), user: user.value.trim(), name: name.value.trim(), language: currentLanguage(),
      }));
      onDone();
    }),
  ];
}

async function keep({ csrf, user }) {
  session.keep(`page ${csrf}`, user);
}

// --- forms; the account page has the same -------------------------------------------------------------------------------

export function input(id, attributes) {
  return el("input", { id, type: "text", ...attributes });
}

export function secret(id, autocomplete) {
  return el("input", { id, type: "password", autocomplete, required: true, maxlength: 1000 });
}

export function codeInput(id, attributes) {
  return input(id, { autocomplete: "one-time-code", inputmode: "numeric", pattern: "[0-9 ]{6,7}", maxlength: 7, ...attributes });
}

export function newPasswords() {
  const both = [secret("new-password", "new-password"), secret("new-password-again", "new-password")];
  for (const one of both) one.minLength = LEAST_CHARS;
  both[1].addEventListener("input", () => both[1].setCustomValidity(""));
  return both;
}

export function checkSame(password, again) {
  if (password.value === again.value) return;
  again.setCustomValidity(accountWord("notSame"));
  again.reportValidity();
  throw new Error(accountWord("notSame"));
}

export function labelled(key, control, hint = null) {
  if (hint) control.setAttribute("aria-describedby", `${control.id}-hint`);
  return el("div", { class: "line" }, el("label", { for: control.id }, accountWord(key)), control, hint ? el("small", { id: `${control.id}-hint`, class: "fact" }, accountWord(hint)) : null);
}

// A form that sends once at a time, and tells why it was refused.
export function form(lines, act, send) {
  const told = el("p", { class: "error", role: "alert" });
  const button = el("button", { type: "submit" }, accountWord(act));
  const node = el("form", { class: "account-form" }, lines, told, el("p", {}, button));
  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    told.textContent = "";
    try {
      await send();
    } catch (error) { told.textContent = error instanceof ApiProblem ? problemWords(error) : error.message; }
    button.disabled = false;
  });
  return node;
}
