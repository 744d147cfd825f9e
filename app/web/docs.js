// The API's documentation, drawn from /openapi.json without anything from outside.

import { el } from "./dom.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

function resolve(api, schema, depth = 0) {
  if (!schema || depth > 6) return schema;
  if (schema.$ref) return resolve(api, schema.$ref.split("/").slice(1).reduce((node, key) => node?.[key], api), depth + 1);
  return schema;
}

function fieldsTable(api, schema) {
  const found = resolve(api, schema);
  if (!found?.properties) return null;
  const rows = Object.entries(found.properties).map(([name, field]) => el("li", {},
    el("code", {}, name), found.required?.includes(name) ? el("b", {}, " *") : null, " ",
    el("span", { class: "fact" }, [typeOf(api, field), field.description].filter(Boolean).join(" — "))));
  return el("ul", {}, ...rows);
}

function typeOf(api, field) {
  if (field.anyOf) return field.anyOf.map((option) => typeOf(api, option)).join(" | ");
  if (field.$ref) return field.$ref.split("/").pop();
  if (field.type === "array") return `array of ${field.items ? typeOf(api, field.items) : "anything"}`;
  if (field.enum) return field.enum.join(" | ");
  return field.const ?? field.type ?? "anything";
}

function json(value) {
  return el("pre", {}, JSON.stringify(value, null, 2));
}

function body(api, operation) {
  const media = operation.requestBody?.content?.["application/json"];
  if (!media) return [];
  const examples = media.examples ? Object.values(media.examples).map((item) => item.value) : resolve(api, media.schema)?.examples ?? [];
  return [el("h3", {}, "Body"), fieldsTable(api, media.schema), ...examples.map(json)];
}

function answers(api, operation) {
  return Object.entries(operation.responses ?? {}).flatMap(([status, response]) => {
    const [kind, media] = Object.entries(response.content ?? {})[0] ?? [];
    const examples = media?.examples ? Object.values(media.examples).map((item) => item.value) : media?.example ? [media.example] : [];
    return [el("h3", {}, `${status} ${response.description ?? ""}`, el("span", { class: "fact" }, kind ? ` ${kind}` : "")),
      media?.schema ? fieldsTable(api, media.schema) : null,
      ...examples.map((item) => (typeof item === "string" ? el("pre", {}, item) : json(item)))];
  });
}

function parameters(operation) {
  if (!operation.parameters?.length) return [];
  const rows = operation.parameters.map((item) => el("li", {}, el("code", {}, item.name), ` (${item.in}) `, el("span", { class: "fact" }, item.description ?? "")));
  return [el("h3", {}, "Parameters"), el("ul", {}, ...rows)];
}

function route(api, path, method, operation) {
  return el("details", {},
    el("summary", {}, el("span", { class: "method" }, method.toUpperCase()), el("code", {}, path), " ", el("span", { class: "fact" }, operation.summary ?? "")),
    operation.description ? el("p", {}, operation.description) : null,
    ...parameters(operation), ...body(api, operation), ...answers(api, operation));
}

const response = await fetch("/openapi.json");
const api = await response.json();
document.getElementById("routes").replaceChildren(
  el("h2", {}, `${api.info.title} ${api.info.version}`), el("p", {}, api.info.description ?? ""),
  ...Object.entries(api.paths).flatMap(([path, item]) => METHODS.filter((method) => item[method]).map((method) => route(api, path, method, item[method]))));
