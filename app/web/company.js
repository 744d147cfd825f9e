// Signing in at the provider of one's company. The browser keeps a cookie that no script can read; what the page keeps is
// the value that has to go with every change, marked by "page ", so that it is never taken for a token.

import { call, session } from "./client.js";
import { el } from "./dom.js";
import { word } from "./words.js";

// Take over a sign-in this browser has, if no token is kept.
export async function signInByCookie() {
  if (session.token) return;
  try {
    const { csrf, user } = await call("GET", "/auth/session");
    if (csrf) session.keep(`page ${csrf}`, user);
  } catch { /* nobody is signed in, or the server is away: the sign-in page says so */ }
}

// One button for each provider; a link, because the whole page goes there and comes back.
export async function companyButtons() {
  const back = encodeURIComponent(location.pathname);
  const known = await call("GET", "/auth/providers");
  return known.map(({ name, title }) =>
    el("a", { class: "person", href: `/api/v1/auth/${name}/start?back=${back}` }, el("b", {}, `${word("signInAt")} ${title}`)));
}

// Why the provider let nobody in, for a page it led to; leaves the address as it was before.
export function refusal() {
  const why = new URLSearchParams(location.search).get("sign-in");
  if (why === null) return "";
  history.replaceState(null, "", location.pathname + location.hash);
  return word("notLetIn")[why] ?? "";
}

// End the sign-in here, and go where the provider ends its own; a token is only forgotten. Gives whether the page leaves.
export async function signOutByCookie() {
  if (!session.isByCookie) return false;
  try {
    const { location: there } = await call("POST", "/auth/logout");
    session.forget();
    location.assign(there);
    return true;
  } catch { return false; }
}
