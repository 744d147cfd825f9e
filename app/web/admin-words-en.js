// The admin pages in English.

export const EN = {
  title: "Administration", skip: "Go to the content", chat: "Chat", parts: "Parts of the administration", signInHint: "Sign in as an administrator or auditor: choose a demo user with the role admin, or paste an access token.",
  notAdmin: "These pages are for administrators and auditors.", notAdminHint: "Your sign-in carries neither the role admin nor auditor. Ask an administrator for it, or sign in as somebody who has it.", otherUser: "Sign in as somebody else",
  loading: "Loading…", more: "More", close: "Close", tryAgain: "Try again", failedTo: "That did not work: {reason}",
  part: { documents: "Documents", health: "Health report", conflicts: "Conflicts", tasks: "Tasks", usage: "Usage", performance: "Performance", evaluations: "Evaluations", people: "People", agents: "Agents", audit: "Audit" },

  all: "all", department: "Department", status: "Status", document: "Document", scope: "Scope", days: "In force", version: "Version", changed: "Changed", noDocuments: "No document matches.", documentCount: "{number} documents shown",
  stageName: { received: "received", parsing: "reading", chunking: "cutting", embedding: "making vectors", ready: "published", partial: "published in part", failed: "failed" },
  stepName: { received: "received", parsing: "read", chunking: "cut", embedding: "vectors made", ready: "published" },
  fromTo: "{from} – {to}", fromDay: "from {from}", toDay: "until {to}", always: "no limit of days",

  bringIn: "Bring documents in", drop: "Drop files here", choose: "or choose files", dropHint: "PDF, Word, Excel, PowerPoint, HTML, Markdown, text, CSV, e-mail and others. Nothing is sent before you press the button.",
  from: "In force from", to: "In force to", supersedes: "Replaces (external id)", externalId: "External id", externalHint: "The same id again makes a new version of that document.", oneFile: "Only with one file at a time.",
  sendFiles: "Bring in", newVersion: "Bring in a new version", newVersionOf: "A new version of “{title}”.", unset: "as in the file", progressOf: "Progress of {name}", needsFile: "Choose a file first.", unchanged: "Nothing had changed.", brought: "“{name}” is published.", openIt: "Open",

  facts: "About this document", file: "File", passages: "Passages", warnings: "What to know about its text", saveOriginal: "Save the original file", noOriginal: "There is no original file: it came as text.",
  whoSees: "Who can see this", whoWouldSee: "Who could see it then",
  seesPublic: "Everybody of the company whose rights include “public”, in every department.",
  seesInternal: "Everybody of the company whose rights include “internal”, in every department.",
  seesGeneral: "Everybody of the company whose rights include “department only”: the department General belongs to everybody.",
  seesPrivate: "Only members of {department} whose rights include “department only”.",
  seesAdmin: "Administrators manage it on these pages whatever its scope; their questions read no more than their own rights allow. No other company ever sees it.",
  seesNow: "Questions about today use it.", seesLater: "Its first day is still to come: questions use it only for days from {from}.", seesPast: "Its last day has passed: questions use it only for days until {to}.",
  change: "Change rights and days", save: "Save", saved: "Saved; the next question sees it.", nothingChanged: "Nothing is changed.",
  versions: "Versions", versionNumber: "Version {number}", current: "is found", changedFields: "Fields", differences: "Text", firstVersion: "The first version.", sameText: "The text is the same as before.", isCut: "Further differences are left out.", added: "Added", removed: "Removed", empty: "empty",
  erase: "Delete", eraseHint: "Deletes all its versions, passages, vectors and original files at once. What it replaced holds again.", eraseAsk: "Delete “{title}” with all {number} versions? This cannot be undone.", erased: "“{title}” was deleted.",

  healthHint: "What to look after, gravest first.", healthy: "Nothing to look after.", allKinds: "All kinds", unsure: "sureness {share}",
  kind: { contradiction: "Contradiction", duplicate: "Duplicate", failed: "Failed", partial: "Published in part", empty: "Empty", expired: "Expired", expiring: "Expires soon", old: "Old", not_compared: "Not compared" },

  conflictsHint: "What runs of the whole company weighed, newest first, in figures: without questions, quotes, titles or addresses.", noConflicts: "No run has weighed a conflict yet.",
  when: "When", type: "Type", winner: "First", loser: "Second", margin: "Margin", threshold: "Threshold", decision: "Decision", decided: "one chosen", undecided: "both shown",
  ruleName: { weighted_scoring: "by scores", later_version: "later version", validity: "validity", starts_later: "not yet in force", verdict: "verdict" }, weighAgain: "Weigh again", weighHint: "The weights count relative to their sum. Nothing is stored and no model is asked.",
  weightOf: "Weight of {factor}", before: "In the run", after: "With these weights", winnerChanged: "The other source comes first.", winnerSame: "The same source comes first.", asInRun: "As in the run", noWeight: "At least one weight must be above zero.",
  notYours: "This run was asked by somebody else. Only who asked may weigh it again, because the answer shows question and quotes; these pages show its figures alone.", leftOut: "This one cannot be weighed again: a source of it was deleted, or you may not read it.", ruleStands: "A rule decided this, not the scores: other weights do not overturn it.", side: "Source", score: "Score",

  performanceHint: "All runs of the company that ended in this time.", period: "Time", lastDay: "1 day", lastWeek: "7 days", lastMonth: "30 days", lastQuarter: "90 days", runs: "Runs", runTime: "Mean time of a run", conflictTime: "Mean time of comparing sources", cacheRatio: "Cache hits",
  agentTimes: "Mean time of an agent", toolCalls: "Calls of a tool", toolTimes: "Mean time of a tool", quality: "Sources (most frequent)", agent: "Agent", completeness: "Completeness", recency: "Recency", domainMatch: "Department", noRuns: "No run has ended in this time.", nothing: "Nothing in this time.", calls: "{number} calls",
  completenessName: { comprehensive: "whole", partial_with_context: "partial, with context", partial: "partial", none: "none" }, recencyName: { within_30_days: "≤ 30 days", within_90_days: "≤ 90 days", older: "older", unknown: "unknown" }, matchName: { perfect: "right", general: "general", none: "none" },

  agentsHint: "Every agent with the file that makes it, read when the service started, and what its steps failed with.", reads: "Reads", tools: "Tools",

  wholeRuns: "whole runs", tasksHint: "Everybody's questions and documents, newest first, as they are now. Figures alone: what somebody asked and was told stays with that person.", taskCount: "{number} shown", noTasks: "No task matches.",
  asker: "Asked by", taskKind: "Kind", work: "Time", ended: "Result", actions: "Actions", stopIt: "Stop", retryIt: "Run again", lost: "holder is silent", tokenOnly: "Known by the token alone: nobody of this id is written down.",
  kindName: { chat: "Question", ingest: "Document", step: "Step" }, modeName: { auto: "automatic", department: "departments", deep: "deep", null: "" }, waitsFor: { approval: "waits for approval" },
  queueName: { chat: "Questions", ingest: "Documents" }, queueOf: "Queue: {name}", waitingNow: "waiting", withWorkers: "with workers", oldestWaits: "the first for {time}", nobodyWaits: "nobody waits", attemptNumber: "attempt {number}", stepsDone: "{done} of {number} steps",
  stopAsk: "Stop this task of {user}? Who asked is told that an administrator stopped it.", stopDone: "Stopped.", retryAsk: "Run this again for {user}? It runs with the rights {user} asked with and still has, never with yours, and its answer appears in that conversation.", retryDone: "Registered again.",
  registered: "Registered", endedAt: "Ended", deadline: "Deadline", attempt: "Attempt", holder: "Held by", lease: "Lease until", steps: "Steps", task: "Task", ofTask: "Step of", session: "Conversation",
  figuresOnly: "Question, plan, answer and evidence are not shown here: they belong to who asked.",

  usageHint: "What the whole company asked of language models. Who asked how much, never what. Days are UTC.", measure: "Chart", measureName: { tokens: "Tokens", runs: "Questions", cost: "Cost" }, modelCalls: "Model calls", tokensIn: "Tokens read", tokensOut: "Tokens written", tokensOpen: "and {number} reserved", cost: "Cost",
  failedRuns: "{number} failed", inCurrency: "in your currency", noPrice: "unknown: no price is set", noPriceHint: "To see a cost, set what a million tokens cost: CONCLAVE_LLM_PROMPT_PRICE and CONCLAVE_LLM_COMPLETION_PRICE. Calls made before have none.", noModel: "No language model was asked in this time: the rules answered by themselves, and that takes no tokens.",
  byDay: "{measure} by day", byUser: "By person", asTable: "As a table", day: "Day", endedWell: "Ended well, or still running", failedOnes: "Failed", furtherUsers: "and {number} more people",

  evaluationsHint: "What “conclave eval run” left on this machine, newest first. Each folder there holds the questions and answers.", noEvaluations: "No evaluation was kept yet. On the machine of the service:",
  runFacts: "{number} questions from {datasets} · version {version}", noGates: "no gates", gatesHold: "{number} gates hold", gatesBroken: "{number} gates broken", leaks: "Leaks", waitsMedian: "Median wait",
  rateName: { right: "Right", facts: "Facts", recall: "Recall@5", outcome: "Outcome", not_found_f1: "Not found, F1", conflict_f1: "Conflicts, F1", winner: "Winner" },

  notYoursToAsk: "No question of yours may be planned with this agent.", isRemote: "steps run elsewhere", isOwn: "of this installation", failures: "Steps that failed in the last 30 days", noFailures: "no failures", failuresCounted: "{number} failures", lastTime: "Last time", tool: "Tool", errorCode: "Code", times: "Times", fileOf: "Its file, {name}",
  readersCounted: "{number} of the {total} people written down may read it:", readersHint: "People who are known by their tokens alone are not in this list; their tokens say what they may read.", readersCut: "Further people are left out.", lacksScope: "lacks “{scope}”", lacksDepartment: "not in {department}",

  peopleHint: "Who may ask, and what each may read. People set their own passwords with a link you give them; it is shown once.", peopleHintProvider: "Who may ask, and what each may read. People sign in at your company's provider.",
  addPerson: "Add a person", addAndInvite: "Add and make a link", personName: "User name", personNameHint: "What the person signs in with: a name or an e-mail address. It never changes.", personShown: "Full name", furtherDepartments: "Further departments", mayRead: "May read", roles: "Roles", personAdded: "{name} was added.",
  roleName: { reader: "reader", owner: "owner", auditor: "auditor", admin: "administrator", service: "program" }, person: "Person", accountState: "Account", doWhat: "Acts", findPerson: "Find a person", peopleCount: "{number} shown",
  hasPassword: "password set", hasPasswordAndCodes: "password and codes", isInvited: "link until {moment}", hasNone: "no account yet", isDisabled: "shut out", isProgram: "program", inviteLink: "Invite", newLink: "New password", shutOut: "Shut out", letIn: "Let in",
  linkFor: "Link for {name}", linkShownOnce: "Give it to that person by a way you trust. It works once, until {moment}, and is not shown again.", theLink: "Link", copyLink: "Copy the link", linkCopied: "Copied.",

  auditHint: "Who did what in your company, newest first: ids, rights and names of fields, never what anybody asked or was told.", act_: "Act", actor: "By", target: "Done to", details: "Details", number: "No.", sinceDay: "From", untilDay: "To and including", noActs: "No act matches.", actCount: "{number} shown", operator: "the operator, or nobody",
  chain: "The chain", chainHint: "Each row carries the hash of the one before it. The server computes all of them anew and names the first row that was changed, removed or added.", chainCheck: "Check the chain", chainWalks: "Computing every hash anew…",
  chainHolds: "It holds ({moment}): {rows} rows, the last is number {row}. Keep its hash elsewhere: only that shows a chain that was made anew as a whole. ", chainHoldsSince: "It holds ({moment}): {rows} rows, the last is number {row}; the oldest {removed} were removed after their time, and the audit says so. Keep its hash elsewhere: ", chainBroken: "It does not hold, first at row {row}: {problem}.",
  act: { question_asked: "Question asked", question_ended: "Question ended", read_task: "Read somebody's run", stop_task: "Stopped a task", retry_task: "Ran a task again", approve_plan: "Approved a plan", refuse_plan: "Refused a plan", signed_in: "Signed in", signed_out: "Signed out", invited: "Link made", password_set: "Password set", codes_on: "Codes on", codes_off: "Codes off", sign_in_refused: "Sign-in refused", user_added: "User added", user_changed: "User changed", user_removed: "User removed", data_erased: "Data erased", key_made: "Key made", key_rotated: "Key rotated", key_revoked: "Key revoked", document_brought_in: "Document brought in", document_changed: "Document changed", document_deleted: "Document deleted", audit_removed: "Oldest rows removed" },
};
