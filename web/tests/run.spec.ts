// What can be done to a run and its tasks from the page, by what comes of it.

import { type Browser, expect, type Page, test } from "@playwright/test";
import { World } from "./world";

interface Task {
  id: string;
  state: string;
  attempts: number;
}

let world: World;

test.beforeEach(() => {
  world = new World();
});
test.afterEach(() => world.end());

const begin = (tasks: string, ...options: string[]) => world.begin(tasks, ...options);
const status = (run: string) => world.api("GET", `/api/runs/${run}`);

async function stateOf(run: string, task: string): Promise<string> {
  const { tasks } = (await world.api("GET", `/api/runs/${run}/tasks`)) as unknown as { tasks: Task[] };
  return tasks.find((one) => one.id === task)?.state ?? "";
}

const reaches = (run: string, task: string, state: string) =>
  expect.poll(() => stateOf(run, task), { timeout: 20_000 }).toBe(state);

const row = (page: Page, task: string) => page.locator(`[id="row-${task}"]`);

const SLEEPERS = `
tasks:
  - { id: one, prompt: Sleep, agent: sleeper }
  - { id: two, prompt: Sleep, agent: sleeper }
  - { id: three, prompt: Sleep, agent: sleeper }
  - { id: after, run: "true", dependencies: [one] }
`;

test("a run is paused and goes on, its slots are changed while it runs", async ({ page }) => {
  const run = await begin(SLEEPERS, "-p", "1");
  await world.open(page, `/runs/${run}`);
  await page.getByRole("button", { name: "Pause" }).click();
  await expect.poll(async () => (await status(run)).state).toBe("paused");
  await expect(page.locator(".run-head .state.filled")).toHaveText(/paused/);
  await page.keyboard.press("p");
  await expect.poll(async () => (await status(run)).state).toBe("running");
  await expect(page.getByRole("button", { name: /^Pause/ })).toBeVisible();

  await page.getByRole("button", { name: "One slot more" }).click();
  await expect.poll(async () => (await status(run)).slots).toBe(2);
  await page.locator("#slots").fill("3");
  await expect.poll(async () => (await status(run)).slots).toBe(3);
  await expect.poll(async () => ((await status(run)).running as unknown[]).length).toBe(3);
  await page.locator("h1").click();
  await page.keyboard.press("-");
  await expect.poll(async () => (await status(run)).slots).toBe(2);
});

test("a task is cancelled, and says before what is lost", async ({ page }) => {
  const run = await begin(SLEEPERS, "-p", "3");
  await reaches(run, "one", "running");
  await world.open(page, `/runs/${run}`);
  await row(page, "one").click();
  await expect(page).toHaveURL(/task=one/);
  await page.keyboard.press("x");
  await expect(page.getByRole("dialog")).toContainText("1 task depends on it");
  await page.getByRole("button", { name: "Cancel the task" }).click();
  await reaches(run, "one", "cancelled");
  await expect(row(page, "one")).toContainText("cancelled");
  // The others are not touched.
  expect(await stateOf(run, "two")).toBe("running");
});

test("the whole run is cancelled after it was confirmed, and stopped so that it can be resumed", async ({ page }) => {
  const run = await begin(SLEEPERS, "-p", "3");
  await reaches(run, "two", "running");
  await world.open(page, `/runs/${run}`);
  await page.getByRole("button", { name: "Stop…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop", exact: true }).click();
  await expect.poll(async () => (await status(run)).live, { timeout: 20_000 }).toBe(false);
  await page.getByRole("button", { name: "Resume" }).click();
  await expect.poll(async () => (await status(run)).live, { timeout: 20_000 }).toBe(true);
  await page.getByRole("button", { name: "Cancel…" }).click();
  await expect(page.getByRole("dialog")).toContainText("Nothing has landed");
  // "Cancel" beside it would be the other thing.
  await expect(page.getByRole("dialog").getByRole("button")).toHaveText(["Cancel the run", "Go back"]);
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await reaches(run, "two", "cancelled");
  await reaches(run, "after", "cancelled");
});

test("a task that failed is done again and lands", async ({ page }) => {
  const run = await begin(
    `
tasks:
  - { id: shaky, run: "test -f ${world.signs}/good && echo done > shaky.txt" }
  - { id: holds, prompt: Sleep, agent: sleeper }
`,
    "-p",
    "2",
  );
  await reaches(run, "shaky", "failed");
  world.sign("good");
  await world.open(page, `/runs/${run}?state=failed&task=shaky`);
  await expect(page.getByLabel("Selected task")).toContainText("If you do nothing");
  await page.keyboard.press("R");
  await reaches(run, "shaky", "landed");
  expect(world.git("show", `conductor/${run}:shaky.txt`)).toBe("done\n");
  await expect(page.getByLabel("Selected task")).toContainText("landed");
});

const ASKS = `
config: { permissions: { ask: ['Bash(terraform*)'] } }
tasks:
  - { id: deploy, name: Deploy it, prompt: Deploy it, agent: asker }
  - { id: holds, name: Hold the door, epic: Doors, prompt: Sleep, agent: sleeper }
  - { id: later, run: "true", dependencies: [holds] }
`;

test("what an agent asks is allowed in the panel", async ({ page }) => {
  const run = await begin(ASKS, "-p", "3");
  await reaches(run, "deploy", "needs");
  await world.open(page, `/runs/${run}?task=deploy`);
  const panel = page.getByLabel("Selected task");
  await expect(panel).toContainText("terraform apply -auto-approve");
  await panel.getByRole("button", { name: "Allow" }).click();
  await reaches(run, "deploy", "landed");
  expect(world.git("show", `conductor/${run}:answer.txt`)).toBe("yes\n");
});

test("filters, grouping and the selection are in the address", async ({ page }) => {
  const run = await begin(ASKS, "-p", "3");
  await reaches(run, "deploy", "needs");
  await world.open(page, `/runs/${run}`);
  await expect(row(page, "deploy")).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("door");
  await expect(row(page, "holds")).toBeVisible();
  await expect(row(page, "deploy")).toHaveCount(0);
  await page.keyboard.press("Enter");
  await page.keyboard.press("j");
  await expect(page).toHaveURL(/filter=door/);
  await expect(page).toHaveURL(/task=holds/);
  await page.reload();
  await expect(row(page, "holds")).toHaveAttribute("aria-selected", "true");
  await expect(row(page, "deploy")).toHaveCount(0);
  await page.goto(`${world.url}/runs/${run}?state=needs&group=state`);
  await expect(row(page, "deploy")).toBeVisible();
  await expect(row(page, "holds")).toHaveCount(0);
  await expect(page.locator(".table-group")).toContainText("needs you");
});

async function another(browser: Browser, path: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await world.open(page, path);
  return page;
}

test("two browsers see the same within two seconds", async ({ browser }) => {
  const run = await begin(SLEEPERS, "-p", "3");
  await reaches(run, "one", "running");
  const [one, other] = [await another(browser, `/runs/${run}`), await another(browser, `/runs/${run}`)];
  await expect(row(one, "one")).toContainText("running");
  await expect(row(other, "one")).toContainText("running");
  world.sign("go-one");
  await reaches(run, "one", "landed");
  await expect(row(one, "one")).toContainText("landed", { timeout: 2000 });
  await expect(row(other, "one")).toContainText("landed", { timeout: 2000 });
  await one.getByRole("button", { name: "Pause" }).click();
  await expect(other.getByRole("button", { name: "Go on" })).toBeVisible({ timeout: 5000 });
  await one.context().close();
  await other.context().close();
});

test("a viewer sees why nothing can be done", async ({ page }) => {
  const run = await begin(ASKS, "-p", "3");
  await reaches(run, "deploy", "needs");
  await world.api("POST", "/api/users", { name: "vera", password: "correct horse battery", role: "viewer" });
  await page.goto(world.url);
  await page.getByLabel("User").fill("vera");
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("link", { name: "Runs" }).first().click();
  await page.goto(`${world.url}/runs/${run}?task=deploy`);
  const pause = page.getByRole("button", { name: "Pause" });
  await expect(pause).toHaveAttribute("aria-disabled", "true");
  await expect(pause).toHaveAttribute("title", /needs the role operator; you have viewer/);
  await pause.click({ force: true });
  await expect(page.locator(".message")).toContainText("needs the role operator");
  await page.keyboard.press("x");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  expect((await status(run)).state).toBe("running");
  expect(await stateOf(run, "deploy")).toBe("needs");
});

test("runs are listed, filtered and compared", async ({ page }) => {
  const first = await begin(`
tasks:
  - { id: good, run: "echo a > good.txt" }
  - { id: shaky, run: "test -f ${world.signs}/good" }
`);
  await reaches(first, "shaky", "failed");
  await expect.poll(async () => (await status(first)).live, { timeout: 20_000 }).toBe(false);
  world.sign("good");
  world.conductor("run", "tasks.yaml");
  const second = (await world.runs())[0]?.run ?? "";
  await world.open(page, "/runs");
  await expect(page.locator(`#run-${second}`)).toContainText("completed");
  await expect(page.locator(`#run-${first}`)).toContainText("failed");
  await page.getByRole("button", { name: "failed" }).click();
  await expect(page.locator(`#run-${second}`)).toHaveCount(0);
  await page.getByRole("button", { name: "all" }).click();
  for (const key of ["j", "x", "j", "x", "="]) await page.keyboard.press(key);
  await expect(page).toHaveURL(new RegExp(`/runs/compare/${second}/${first}`));
  await expect(page.getByText("1 of 2 tasks ended differently")).toBeVisible();
  await page.getByLabel("Only differences").check();
  await expect(page.locator("[data-differs=true]")).toContainText("shaky");
  await expect(page.locator("[data-differs=false]")).toHaveCount(0);
});

test("events are told newest first, filtered, and shown whole", async ({ page }) => {
  const run = await begin(SLEEPERS, "-p", "3");
  await reaches(run, "one", "running");
  await world.open(page, `/runs/${run}/events?about=one`);
  await expect(page.locator(".events-row").filter({ hasText: "attempt started" })).toHaveCount(1);
  world.sign("go-one");
  const landed = page.locator(".events-row").filter({ hasText: "landed as" });
  await expect(landed).toHaveCount(1);
  await landed.click();
  await expect(page.getByLabel("Event as JSON").locator("pre")).toContainText('"type": "task_completed"');
  await page.getByLabel("Type").selectOption("task_completed");
  await expect(page.locator(".events-row")).toHaveCount(1);
});

test("a screen that cannot be drawn says so, and the rest of the page stays in use", async ({ page }) => {
  await world.serve();
  await page.route("**/api/agents", (route) =>
    route.fulfill({ json: { schema: "conductor.agents/1", agents: [null] } }),
  );
  await world.open(page, "/agents");
  await expect(page.getByRole("alert")).toContainText("This screen could not be drawn");
  await page.getByRole("link", { name: "Runs" }).first().click();
  await expect(page.locator("h1")).toHaveText("Runs");
  await page.getByRole("link", { name: "Agents & workers" }).first().click();
  await expect(page.getByRole("alert")).toBeVisible();
  await page.unroute("**/api/agents");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.locator("h1")).toHaveText("Agents & workers");
  await expect(page.getByRole("alert")).toHaveCount(0);
});
