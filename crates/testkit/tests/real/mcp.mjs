// A server of one tool over stdio. What the tool is called with goes into the file that is named on the command line.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const tool = {
  name: "update_task_status",
  description: "Updates the status of a task",
  inputSchema: {
    type: "object",
    properties: { task_id: { type: "string" }, status: { type: "string" } },
    required: ["task_id", "status"],
  },
};

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "tasks", version: "1" },
  }),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": ({ arguments: given }) => {
    appendFileSync(process.argv[2], JSON.stringify(given) + "\n");
    return { content: [{ type: "text", text: "recorded" }] };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = answers[method]?.(params ?? {}) ?? {};
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n");
}
