// Costs on the page are what the command line says.

import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { World } from "./world";

let world: World;

test.beforeAll(async () => {
  world = new World();
  world.addAgent(
    "odd",
    `
read -r task
echo x > odd.txt
echo '{"type":"usage","model":"no-such-model-1","input":700,"output":60,"turns":1}'
echo '{"type":"result","ok":true,"text":"done"}'
`,
  );
  world.write(
    "tasks.yaml",
    `tasks:
  - { id: one, prompt: Write it, agent: pricey }
  - { id: two, prompt: Write it, agent: pricey }
  - { id: quiet, prompt: Write it, agent: writer }
  - { id: odd, prompt: Write it, agent: odd }
`,
  );
  await world.serve();
  await world.api("POST", "/api/projects", { directory: world.repository });
  world.conductor("run", "tasks.yaml", "-p", "2");
});

test.afterAll(() => world.end());

interface Told {
  lines: { key: string; known_cost_usd: number; attempts: number }[];
  total: { known_cost_usd: number; unpriced_tokens: number; untold_attempts: number };
}

const told = (by: string): Told => JSON.parse(world.conductor("cost", "--json", "--by", by));
const money = (value: number): string => `$${value.toFixed(2)}`;

test("what is shown adds up to what `conductor cost --json` says", async ({ page }) => {
  const { total, lines } = told("agent");
  expect(total.known_cost_usd).toBeGreaterThan(0.1);
  expect(total.unpriced_tokens).toBe(760);
  await world.open(page, "/costs?by=agent");
  const table = page.locator(".cost-lines");
  await expect(table.locator("tfoot")).toContainText(`${money(total.known_cost_usd)} + unknown`);
  for (const line of lines) {
    const row = table.locator("tbody tr").filter({ hasText: line.key });
    await expect(row.locator("td").nth(3)).toHaveText(String(line.attempts));
    await expect(row.locator("td").nth(2)).toHaveText(line.key === "pricey" ? money(line.known_cost_usd) : "unknown");
  }
  await expect(page.getByText("1 attempt ended without saying what it used")).toBeVisible();
  await expect(page.getByText("760 tokens are of models without a known price")).toBeVisible();
  await page.getByRole("button", { name: "By task" }).click();
  await expect(page).toHaveURL(/by=task/);
  await expect(table.locator("tbody tr")).toHaveCount(told("task").lines.length);
  await expect(table.locator("tfoot")).toContainText(money(total.known_cost_usd));
});

test("the file that is downloaded has what is shown", async ({ page }) => {
  await world.open(page, "/costs?by=task&range=all");
  await page.locator(".cost-lines").waitFor();
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export CSV" }).click();
  const file = await waiting;
  expect(file.suggestedFilename()).toBe("costs-by-task.csv");
  const rows = readFileSync(await file.path(), "utf8")
    .trim()
    .split("\r\n")
    .map((row) => row.split(","));
  expect(rows[0]?.[0]).toBe("task");
  const known = rows.slice(1).map((row) => Number(row[7]));
  expect(known.reduce((all, one) => all + one, 0)).toBeCloseTo(told("task").total.known_cost_usd, 6);
  // The cost of what has no price is not known: an empty cell, no 0.
  expect(rows.find((row) => row[0] === "odd")?.[8]).toBe("");
});
