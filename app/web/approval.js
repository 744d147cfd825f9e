// A plan that waits for a person: carry it out, have it made anew, or give the question up.

import { call } from "./client.js";
import { announce, el } from "./dom.js";
import { problemWords } from "./problems.js";
import { momentWords, word } from "./words.js";

// `attempt` names the plan that is decided about, so that a later one is not decided by mistake.
export function approvalNode(taskId, { attempt, expires_at: expiresAt }) {
  const changes = el("textarea", { rows: 2, maxlength: 2000, "aria-label": word("planChanges"), placeholder: word("planChanges") });
  const problem = el("p", { class: "error", role: "alert" });
  const decide = async (approved, feedback) => {
    try {
      await call("POST", `/tasks/${taskId}/approve`, { approved, feedback, attempt });
    } catch (error) {
      problem.textContent = problemWords(error);
    }
  };
  const button = (key, kind, onclick) => el("button", { type: "button", class: kind, onclick }, word(key));
  announce(word("planWaits"));
  return el("section", { class: "approval", "aria-label": word("planWaits") },
    el("h3", {}, word("planWaits")), el("p", { class: "fact" }, word("planWaitsUntil", { moment: momentWords(expiresAt) })), changes,
    el("div", { class: "choices" },
      button("planApprove", null, () => decide(true, "")),
      button("planAgain", "quiet", () => (changes.value.trim() ? decide(false, changes.value.trim()) : changes.focus())),
      button("planRefuse", "quiet", () => decide(false, ""))),
    problem);
}
