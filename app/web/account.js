// The own account: another password, and codes of an authenticator app.

import { accountWord } from "./account-words.js";
import { call } from "./client.js";
import { el } from "./dom.js";
import { checkSame, codeInput, form, labelled, newPasswords, secret } from "./local.js";

const dialog = () => document.getElementById("reader");

// Open the sheet over the page.
export async function openAccount() {
  const { has_password: hasPassword, has_codes: hasCodes } = await call("GET", "/account");
  show(hasPassword ? [passwordNode(), codesNode(hasCodes)] : [el("p", {}, accountWord("noPassword"))]);
}

function passwordNode() {
  const told = el("p", { class: "fact", role: "status" });
  const present = secret("present-password", "current-password");
  const [password, again] = newPasswords();
  const node = form([labelled("present", present), labelled("newPassword", password, "passwordHint"), labelled("again", again)], "save", async () => {
    told.textContent = "";
    checkSame(password, again);
    await call("PUT", "/account/password", { password: present.value, new_password: password.value });
    node.reset();
    told.textContent = accountWord("changed");
  });
  return el("section", { "data-section": "password" }, el("h3", {}, accountWord("change")), node, told);
}

function codesNode(isOn, told = "") {
  const room = el("section", { "data-section": "codes" });
  const say = (next, words) => room.replaceWith(codesNode(next, words));
  const present = secret("codes-password", "current-password");
  const code = codeInput("codes-code", { required: true });
  const settle = async (password, asked) => {
    await call("PUT", "/account/codes", { password, code: code.value.replaceAll(" ", ""), asked });
    say(asked, accountWord(asked ? "codesAreOn" : "codesAreOff"));
  };
  const beginning = () => form([labelled("present", present)], "codesBegin", async () => {
    const { secret: key, address } = await call("POST", "/account/codes", { password: present.value });
    node.replaceWith(
      el("p", {}, accountWord("codesSecret")), el("p", {}, el("code", { class: "key" }, key.match(/.{1,4}/g).join(" "))), el("p", {}, el("a", { href: address }, accountWord("codesOpen"))),
      form([labelled("codeShown", code)], "codesConfirm", () => settle(present.value, true)));
    code.focus();
  });
  const ending = () => form([labelled("present", present), labelled("codeShown", code)], "codesEnd", () => settle(present.value, false));
  const node = isOn ? ending() : beginning();
  room.append(el("h3", {}, accountWord("codes")), el("p", { class: "fact", role: "status" }, told), el("p", {}, accountWord(isOn ? "codesOn" : "codesOff")), node);
  return room;
}

function show(body) {
  const close = el("button", { type: "button", class: "quiet", onclick: () => dialog().close() }, accountWord("close"));
  dialog().replaceChildren(el("header", {}, el("h2", {}, accountWord("account")), close), el("div", { class: "sheet account" }, body));
  if (!dialog().open) dialog().showModal();
  close.focus();
}
