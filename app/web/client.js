// Talking to the API: the token, JSON calls, uploads, and a run's event stream that survives lost connections.

const BASE = "/api/v1";
const MAX_RECONNECTS = 8;
const TERMINAL = new Set(["final_report", "task_failed", "task_cancelled"]);

export class ApiProblem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.error_message || `HTTP ${status}`);
    this.status = status;
    this.code = body?.code || body?.error_code || "";
  }
}

export const session = {
  get token() { return sessionStorage.getItem("conclave.token"); },
  get isByCookie() { return (this.token ?? "").startsWith("page "); }, // see company.js
  get headers() {
    if (!this.token) return {};
    return this.isByCookie ? { "Conclave-CSRF": this.token.slice(5) } : { Authorization: `Bearer ${this.token}` };
  },
  get user() { return sessionStorage.getItem("conclave.user") || ""; },
  get key() { return sessionStorage.getItem("conclave.key") || ""; }, // of the sign-in links
  set key(key) { sessionStorage.setItem("conclave.key", key); },
  keep(token, user) {
    sessionStorage.setItem("conclave.token", token);
    sessionStorage.setItem("conclave.user", user);
  },
  forget() {
    for (const name of ["token", "user", "run"]) sessionStorage.removeItem(`conclave.${name}`);
  },
};

// The run this tab waits for, kept over a reload: {taskId, sessionId, query}, or null.
export const running = {
  get kept() { return JSON.parse(sessionStorage.getItem("conclave.run") || "null"); },
  keep(run) { sessionStorage.setItem("conclave.run", JSON.stringify(run)); },
  forget() { sessionStorage.removeItem("conclave.run"); },
};

export async function call(method, path, body, headers = {}) {
  const response = await send(method, path, body, headers);
  return response.status === 204 ? null : response.json();
}

// Send a file as a form; the browser writes the form's own Content-Type.
export async function upload(path, file) {
  const form = new FormData();
  form.append("file", file);
  return (await send("POST", path, form, {})).json();
}

// Keep a file of the API among the person's downloads; a plain link would carry no token.
export async function download(path) {
  const response = await send("GET", path, undefined, {});
  const name = /filename\*=UTF-8''(.+)$/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: decodeURIComponent(name ?? "document") });
  link.click();
  URL.revokeObjectURL(address);
}

async function send(method, path, body, headers) {
  const sent = { Accept: "application/json", ...session.headers, ...headers };
  const isForm = body instanceof FormData;
  if (body !== undefined && !isForm) sent["Content-Type"] = "application/json";
  const content = body === undefined || isForm ? body : JSON.stringify(body);
  const response = await fetch(BASE + path, { method, headers: sent, body: content });
  if (!response.ok) throw new ApiProblem(response.status, await response.json().catch(() => null));
  return response;
}

// Ask a question; yields {seq, type, data} in order, reconnecting by seq, until the one terminal event.
export function ask(body, onLost) {
  const key = crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random()}`;
  const open = () => send("POST", "/chat/stream", body, { Accept: "text/event-stream", "Idempotency-Key": key });
  return follow(null, onLost, open);
}

// The events of a run from its beginning; `open` asks for one that has no id yet.
export async function* follow(taskId, onLost, open = null) {
  let seen = 0;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const response = taskId === null ? await open() : await attach(taskId, seen);
      if (response.status === 204) return;
      for await (const event of readEvents(response.body)) {
        if (event.seq <= seen) continue;
        seen = event.seq;
        attempt = 0;
        if (event.type === "task_available") taskId = event.data.task_id;
        yield event;
        if (TERMINAL.has(event.type)) return;
      }
    } catch (error) {
      if (error instanceof ApiProblem && error.status < 500 && error.status !== 429) throw error;
      if (attempt >= MAX_RECONNECTS) throw error;
    }
    onLost();
    await new Promise((resolve) => setTimeout(resolve, Math.min(8000, 300 * 2 ** attempt)));
  }
}

function attach(taskId, seen) {
  return send("GET", `/tasks/${taskId}/events`, undefined, { Accept: "text/event-stream", "Last-Event-ID": String(seen) });
}

async function* readEvents(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event !== null) yield event;
    }
  }
}

function parseBlock(block) {
  const fields = { data: [] };
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) continue;
    const value = line.slice(at + 1).replace(/^ /, "");
    if (line.slice(0, at) === "data") fields.data.push(value);
    else fields[line.slice(0, at)] = value;
  }
  if (!fields.event) return null;
  return { seq: Number(fields.id), type: fields.event, data: JSON.parse(fields.data.join("\n")) };
}
