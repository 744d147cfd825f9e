// Bringing documents in: files dropped or chosen, what is said of them, and how far each one is.

import { choice, day, departmentChoices, field, scopeChoices, tell, text } from "./admin-fields.js";
import { say, sayIn, sizeWords } from "./admin-words.js";
import { call, follow } from "./client.js";
import { announce, el } from "./dom.js";

const STAGES = ["received", "parsing", "chunking", "embedding", "ready"];
const FIELDS = ["department", "scope", "effective_from", "effective_to", "supersedes", "external_id"];
const ONE_FILE_ONLY = ["supersedes", "external_id"];
const arrivals = el("ol", { class: "arrivals" }); // outlives the part: work goes on while another one is looked at

export const arrivalsNode = () => arrivals;

// `onArrived()` is called when a document came to its end. Gives {node, asVersionOf(document)}.
export function uploadForm(departments, onArrived) {
  const form = new UploadForm(departments, onArrived);
  return { node: form.node, asVersionOf: (one) => form.asVersionOf(one) };
}

class UploadForm {
  constructor(departments, onArrived) {
    this.onArrived = onArrived;
    this.files = [];
    this.inputs = {
      department: choice(departmentChoices(departments)), scope: choice(scopeChoices(), "internal"),
      effective_from: day(), effective_to: day(), supersedes: text(), external_id: text(),
    };
    this.told = el("p", { class: "fact", role: "status" });
    this.chosen = el("ul", { class: "chosen" });
    this.picker = el("input", { type: "file", id: "bring-files", class: "unseen", multiple: true, onchange: () => { this.take(this.picker.files); this.picker.value = ""; } });
    this.zone = el("label", { class: "drop", for: "bring-files" }, el("b", {}, say("drop")), " ", el("span", { class: "choose" }, say("choose")), el("small", { class: "fact" }, say("dropHint")));
    this.form = el("form", { class: "bring", onsubmit: (event) => { event.preventDefault(); this.send(); } },
      this.picker, this.zone, this.chosen, this.fieldsNode(), el("div", { class: "doing" }, el("button", { type: "submit" }, say("sendFiles")), this.told));
    this.node = el("details", { class: "card", id: "bring-in" }, el("summary", {}, say("bringIn")), this.form);
    this.listenToDrops();
  }

  fieldsNode() {
    const { inputs } = this;
    return el("div", { class: "fields" },
      field("up-department", say("department"), inputs.department), field("up-scope", say("scope"), inputs.scope),
      field("up-from", say("from"), inputs.effective_from), field("up-to", say("to"), inputs.effective_to),
      field("up-supersedes", say("supersedes"), inputs.supersedes, say("oneFile")), field("up-external", say("externalId"), inputs.external_id, say("externalHint")));
  }

  listenToDrops() {
    const mark = (on) => this.zone.classList.toggle("over", on);
    for (const kind of ["dragenter", "dragover"]) this.zone.addEventListener(kind, (event) => { event.preventDefault(); mark(true); });
    this.zone.addEventListener("dragleave", () => mark(false));
    this.zone.addEventListener("drop", (event) => { event.preventDefault(); mark(false); this.take(event.dataTransfer.files); });
  }

  take(files) {
    this.files.push(...files);
    this.redraw();
  }

  redraw() {
    this.chosen.replaceChildren(...this.files.map((file, at) => el("li", {}, file.name, el("span", { class: "fact" }, sizeWords(file.size)),
      el("button", { type: "button", class: "icon small", "aria-label": `${say("remove")}: ${file.name}`, onclick: () => { this.files.splice(at, 1); this.redraw(); } }, "×"))));
    for (const name of ONE_FILE_ONLY) this.inputs[name].disabled = this.files.length > 1;
    tell(this.told, "");
  }

  // The next file is a new version of this document.
  asVersionOf(one) {
    this.node.open = true;
    for (const name of ["department", "scope", "external_id"]) this.inputs[name].value = one[name];
    tell(this.told, say("newVersionOf", { title: one.title }));
    this.node.scrollIntoView();
    this.picker.focus();
  }

  send() {
    if (!this.files.length) { tell(this.told, say("needsFile"), true); return; }
    const fields = Object.fromEntries(FIELDS.map((name) => [name, this.inputs[name]]).filter(([, input]) => !input.disabled && input.value.trim()).map(([name, input]) => [name, input.value.trim()]));
    for (const file of this.files) bringIn(file, fields, this.onArrived);
    this.files = [];
    for (const name of ["effective_from", "effective_to", ...ONE_FILE_ONLY]) this.inputs[name].value = "";
    this.redraw();
  }
}

// One file on its way, from the sending to the last stage.
async function bringIn(file, fields, onArrived) {
  const row = new Arrival(file.name);
  arrivals.prepend(row.node);
  try {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append("file", file);
    const { document_id: id, task_id: taskId } = await call("POST", "/documents", form);
    for await (const { type, data } of follow(taskId, () => {})) {
      if (type === "progress") row.progress(data.output);
      if (type === "final_report" || type === "task_failed") row.end(data.answer);
    }
    row.node.dataset.document = id;
  } catch (error) {
    row.fail(error.message);
  }
  await onArrived();
}

class Arrival {
  constructor(name) {
    this.name = name;
    this.bar = el("progress", { max: 100, value: 0, "aria-label": say("progressOf", { name }) });
    this.told = el("p", { class: "fact", role: "status" });
    this.stages = el("ol", { class: "stages" }, STAGES.map((stage) => el("li", { "data-stage": stage, "data-state": "waiting" }, sayIn("stepName", stage))));
    this.node = el("li", { "data-status": "received" }, el("b", {}, name), this.bar, this.stages, this.told);
    this.at("received");
  }

  progress(output) {
    this.bar.value = output.progress_percentage;
    this.at(output.processing_status);
    if (output.chunks_total) this.told.textContent = `${output.chunks_embedded} / ${output.chunks_total}`;
  }

  at(stage) {
    const reached = STAGES.indexOf(stage === "partial" ? "ready" : stage);
    if (reached < 0) return;
    this.node.dataset.status = stage;
    for (const [place, one] of [...this.stages.children].entries()) {
      one.dataset.state = place < reached || stage === "ready" || stage === "partial" ? "done" : place === reached ? "now" : "waiting";
    }
  }

  end(answer) {
    if (answer.status === "failed" || answer.error) { this.fail(answer.detail || answer.error_message); return; }
    this.bar.value = 100;
    this.at(answer.status);
    const told = answer.code === "UNCHANGED" ? say("unchanged") : [say("brought", { name: this.name }), answer.detail].filter(Boolean).join(" ");
    this.told.textContent = told;
    announce(told);
  }

  fail(reason) {
    this.node.dataset.status = "failed";
    for (const one of this.stages.children) if (one.dataset.state === "now") one.dataset.state = "failed";
    tell(this.told, reason, true);
  }
}
