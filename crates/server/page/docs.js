"use strict";

const main = document.getElementById("routes");
const find = document.getElementById("find");

function make(name, text, parent) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

function row(table, label, words) {
  const line = make("tr", undefined, table);
  const cell = make("td", undefined, line);
  make("code", label, cell);
  const input = make("input", undefined, make("td", undefined, line));
  make("td", words || "", line);
  return input;
}

function example(schema) {
  const body = {};
  for (const [name, field] of Object.entries(schema.properties || {})) {
    if ((schema.required || []).includes(name)) {
      body[name] = { string: "", integer: 1, number: 1, boolean: false, array: [], object: {} }[field.type];
    }
  }
  return JSON.stringify(body, null, 2);
}

function operation(path, method, described) {
  const details = make("details");
  details.dataset.words = `${method} ${path} ${described.summary}`.toLowerCase();
  const summary = make("summary", undefined, details);
  make("span", method.toUpperCase(), summary).className = "method";
  make("code", path, summary);
  make("span", described.summary, summary);
  make("span", described["x-conductor-role"], summary).className = "role";
  const table = make("table", undefined, details);
  const inputs = (described.parameters || []).map((one) => [one, row(table, one.name, one.description)]);
  let body;
  const content = described.requestBody && described.requestBody.content["application/json"];
  if (content) {
    const fields = make("table", undefined, details);
    for (const [name, field] of Object.entries(content.schema.properties)) {
      const line = make("tr", undefined, fields);
      make("code", name, make("td", undefined, line));
      make("td", field.enum ? field.enum.join(" | ") : field.type, line);
      make("td", field.description, line);
    }
    body = make("textarea", undefined, details);
    body.value = example(content.schema);
    body.setAttribute("aria-label", "Body");
  }
  const button = make("button", "Send", details);
  const answer = make("pre", undefined, details);
  answer.hidden = true;
  button.addEventListener("click", async () => {
    let url = path;
    const query = new URLSearchParams();
    const asked = { method: method.toUpperCase(), headers: {} };
    for (const [one, input] of inputs) {
      if (one.in === "path") url = url.replace(`{${one.name}}`, encodeURIComponent(input.value));
      else if (input.value === "") continue;
      else if (one.in === "header") asked.headers[one.name] = input.value;
      else query.set(one.name, input.value);
    }
    if ([...query].length > 0) url += `?${query}`;
    if (body) {
      asked.headers["content-type"] = "application/json";
      asked.body = body.value;
    }
    answer.hidden = false;
    answer.textContent = "…";
    const response = await fetch(url, asked);
    const text = await response.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* It is no JSON. */ }
    answer.textContent = `${response.status}\n${shown}`;
  });
  return details;
}

async function load() {
  const described = await (await fetch("/api/openapi.json")).json();
  main.textContent = "";
  for (const [path, methods] of Object.entries(described.paths)) {
    for (const [method, one] of Object.entries(methods)) main.append(operation(path, method, one));
  }
}

find.addEventListener("input", () => {
  const wanted = find.value.toLowerCase();
  for (const one of main.children) one.hidden = !one.dataset.words.includes(wanted);
});

load().catch((error) => { main.textContent = String(error); });
