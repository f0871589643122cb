// Review and landing: comments that go back, approvals that land, work that is dropped and kept.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, type Page, test } from "@playwright/test";
import { World } from "./world";

const TASKS = `
config: { land: approve }
tasks:
  - { id: hold, prompt: Hold stock, agent: coder, verify: ["test -s src/hold.ts"] }
  - { id: gone, prompt: Write it, agent: writer }
  - { id: mine, prompt: Write it, agent: writer }
  - { id: fine, prompt: Write it, agent: writer }
  - { id: after, run: "echo a > after.txt", dependencies: [fine], land: auto }
  - { id: open, prompt: Wait, agent: sleeper }
`;

let world: World;
let run = "";

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  world = new World();
  world.write("tasks.yaml", TASKS);
  await world.serve();
  await world.api("POST", "/api/projects", { directory: world.repository });
  world.start("run", "tasks.yaml", "-p", "5");
  await expect.poll(async () => (await world.runs())[0]?.run ?? "", { timeout: 30_000 }).not.toBe("");
  run = (await world.runs())[0]?.run ?? "";
  for (const task of ["hold", "gone", "mine", "fine"])
    await expect.poll(async () => (await told(task)).phase, { timeout: 30_000 }).toBe("review");
});

test.afterAll(() => world.end());

async function told(task: string): Promise<{ state: string; phase: string | null; attempts: number }> {
  const answer = await world.api("GET", `/api/runs/${run}/tasks/${task}`);
  return answer.task as { state: string; phase: string | null; attempts: number };
}

const open = (page: Page, task: string) => world.open(page, `/runs/${run}/review/${task}`);
const landed = (path: string) => world.git("show", `conductor/${run}:${path}`);

test("a comment on a line goes back to the agent, and what it mends lands", async ({ page }) => {
  await open(page, "hold");
  await expect(page.locator(".otherwise")).toContainText("If you do nothing:");
  await page.getByRole("button", { name: "Comment on line 3 of src/hold.ts" }).click();
  const box = page.getByRole("textbox", { name: "What should the agent change here?" });
  await box.fill("use seconds\neverywhere");
  await page.keyboard.press("Control+Enter");
  await expect(page.locator(".diff-comment")).toContainText("use seconds");
  // It is kept in the browser until it is sent.
  await page.reload();
  await expect(page.locator(".diff-comment")).toContainText("use seconds");
  await page.getByRole("button", { name: /Send back with 1 comment/ }).click();
  await expect.poll(async () => (await told("hold")).attempts, { timeout: 30_000 }).toBe(2);
  await expect.poll(async () => (await told("hold")).phase, { timeout: 30_000 }).toBe("review");
  const events = (await world.api("GET", `/api/runs/${run}/events?task=hold`)) as {
    events: { type: string; verdict?: unknown }[];
  };
  const verdict = JSON.stringify(events.events.find((event) => event.type === "review_given")?.verdict);
  expect(verdict).toContain('"file":"src/hold.ts","line":3');
  expect(verdict).toContain("use seconds everywhere (the line: export const HOLD_FOR = 15 * 60; // seconds)");
  await expect(page.getByRole("region", { name: "Diff" })).toContainText("mended");
  await expect(page.locator(".diff-comment")).toHaveCount(0);
  await page.keyboard.press("a");
  await expect.poll(async () => (await told("hold")).state, { timeout: 30_000 }).toBe("landed");
  expect(landed("hold.mended")).toBe("mended\n");
  await expect(page.getByText("hold does not wait for a review.")).toBeVisible();
});

test("lines are reached and spoken of by keys", async ({ page }) => {
  await open(page, "fine");
  await page.locator(".diff-line").first().waitFor();
  await page.keyboard.press("j");
  await expect(page.locator(".diff-line[data-chosen]")).toHaveCount(1);
  await page.keyboard.press("c");
  await page.keyboard.type("why?");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("button", { name: /Send back with 1 comment/ })).toBeVisible();
  await page.getByRole("button", { name: "Remove" }).click();
  await expect(page.getByRole("button", { name: /Send back…/ })).toBeVisible();
});

test("approved work lands, and what waited for it goes on; another commit is refused", async ({ page }) => {
  await open(page, "fine");
  await page.locator(".diff-line").first().waitFor();
  await page.route("**/review/approve", async (route) => {
    const body = route.request().postDataJSON() as { commit: string };
    expect(body.commit).toMatch(/^[0-9a-f]{40}$/);
    await route.continue({ postData: JSON.stringify({ commit: "0".repeat(40) }) });
  });
  await page.getByRole("button", { name: /Approve and land/ }).click();
  await expect(page.getByText("Not done")).toBeVisible();
  expect((await told("fine")).phase).toBe("review");
  await page.unroute("**/review/approve");
  await page.getByRole("button", { name: /Approve and land/ }).click();
  await expect.poll(async () => (await told("after")).state, { timeout: 30_000 }).toBe("landed");
  expect(landed("fine.txt")).toBe("by fine\n");
  expect(landed("after.txt")).toBe("a\n");
});

test("work that the user edits in its folder lands as it was left", async ({ page }) => {
  await open(page, "mine");
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  const folder = (await page.getByRole("region", { name: "Edit" }).textContent()) ?? "";
  writeFileSync(join(folder.trim(), "mine.txt"), "by hand\n");
  // The folder is still known after a reload.
  await page.reload();
  await page.getByRole("button", { name: "Land it as I left it" }).click();
  await expect.poll(async () => (await told("mine")).state, { timeout: 30_000 }).toBe("landed");
  expect(landed("mine.txt")).toBe("by hand\n");
});

test("edits are discarded; dropped work does not land and is kept under a ref", async ({ page }) => {
  await open(page, "gone");
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await expect(page.getByRole("button", { name: "Land it as I left it" })).toBeVisible();
  await page.getByRole("button", { name: "Discard my edits" }).click();
  await expect(page.getByRole("button", { name: "Land it as I left it" })).toHaveCount(0);
  await page.getByRole("button", { name: "Drop…" }).click();
  await page.getByRole("button", { name: "Drop", exact: true }).click();
  await expect.poll(async () => (await told("gone")).phase, { timeout: 30_000 }).not.toBe("review");
  const kept = world.git("for-each-ref", "--format=%(refname)", `refs/conductor/rescue/${run}/gone`).trim();
  expect(kept).not.toBe("");
  expect(world.git("show", `${kept.split("\n")[0]}:gone.txt`)).toBe("by gone\n");
  expect(() => landed("gone.txt")).toThrow();
});
