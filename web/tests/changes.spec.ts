// What is changed of a run while it goes on: what it may cost, which task is next. And what is told of its tasks' checks
// and tools.

import { expect, type Page, test } from "@playwright/test";
import { World } from "./world";

let world: World;

test.beforeEach(() => {
  world = new World();
});
test.afterEach(() => world.end());

const begin = (tasks: string, ...options: string[]) => world.begin(tasks, ...options);
const status = (run: string) => world.api("GET", `/api/runs/${run}`);
const taskOf = async (run: string, task: string) =>
  (await world.api("GET", `/api/runs/${run}/tasks/${task}`)).task as Record<string, unknown>;
const reaches = (run: string, task: string, state: string) =>
  expect.poll(async () => (await taskOf(run, task)).state, { timeout: 30_000 }).toBe(state);

async function ask(page: Page, amount: string): Promise<void> {
  await page.getByRole("dialog").getByRole("textbox").fill(amount);
  await page.getByRole("button", { name: "Change the cap" }).click();
}

const CAPPED = `
limits: { max_cost: 0.05, on_budget: finish }
tasks:
  - { id: paid, prompt: Write it, agent: pricey }
  - { id: holds, prompt: Sleep, agent: sleeper }
  - { id: after, run: "echo a > after.txt", dependencies: [paid] }
`;

test("a run that starts nothing more for its cost goes on when its cap is raised", async ({ page }) => {
  const run = await begin(CAPPED, "-p", "2");
  await reaches(run, "paid", "landed");
  await expect.poll(async () => (await status(run)).state).toBe("finishing");
  await world.open(page, `/runs/${run}`);
  await page.getByRole("button", { name: "Change cap" }).click();
  await expect(page.getByRole("dialog")).toContainText("of $0.05");
  await ask(page, "nothing");
  await expect(page.getByText("An amount above 0, such as 2.50.")).toBeVisible();
  await page.locator("h1").click();
  await page.keyboard.press("m");
  await ask(page, "5");
  await reaches(run, "after", "landed");
  await expect(page.locator(".figures")).toContainText("of $5.00");
  expect((await status(run)).state).toBe("running");
  await world.open(page, `/runs/${run}/events`);
  await expect(page.getByText("may use $5.00 from now on")).toBeVisible();
  await expect(page.getByText("no cap is reached any more; tasks start again")).toBeVisible();
});

test("the priority of a task that waits decides which starts next", async ({ page }) => {
  const run = await begin(
    `
tasks:
  - { id: first, prompt: Sleep, agent: sleeper, priority: high }
  - { id: second, prompt: Sleep, agent: sleeper }
  - { id: third, prompt: Sleep, agent: sleeper }
`,
    "-p",
    "1",
  );
  await reaches(run, "first", "running");
  await world.open(page, `/runs/${run}?task=third`);
  await page.getByRole("combobox", { name: "Priority of third" }).selectOption("critical");
  await expect.poll(async () => (await taskOf(run, "third")).priority).toBe(0);
  world.sign("go-first");
  await reaches(run, "third", "running");
  expect((await taskOf(run, "second")).state).toBe("pending");
  // On the task's own screen, too.
  await world.open(page, `/runs/${run}/tasks/second`);
  await page.getByRole("combobox", { name: "Priority of second" }).selectOption("backlog");
  await expect.poll(async () => (await taskOf(run, "second")).priority).toBe(4);
  await expect(page.getByText("Priority changed to backlog").first()).toBeVisible();
});

const CHECKED = `
config: { check_base: true }
tasks:
  - id: cart
    prompt: Write it
    agent: handy
    verify: ["echo all is well", "echo 'Error: 2 is not 3' && test -f never"]
    retry_policy: { max_attempts: 1 }
  - { id: holds, prompt: Sleep, agent: sleeper }
`;

const HANDY = `
read -r task
echo '{"type":"tool","name":"Bash","text":"pnpm test --filter cart"}'
while [ ! -f "$SIGNS/go-on" ]; do sleep 0.05; done
echo work > work.txt
echo '{"type":"result","ok":true,"text":"done"}'
`;

test("the last tool of an agent is seen, and how each check went", async ({ page }) => {
  world.addAgent("handy", HANDY);
  const run = await begin(CHECKED, "-p", "2");
  await reaches(run, "cart", "running");
  await world.open(page, `/runs/${run}?task=cart`);
  const row = page.locator('[id="row-cart"]');
  await expect(row).toContainText("Bash pnpm test --filter cart", { timeout: 20_000 });
  await expect(page.getByLabel("Selected task")).toContainText("Last tool");
  world.sign("go-on");
  await reaches(run, "cart", "failed");
  await world.open(page, `/runs/${run}/tasks/cart/checks`);
  const cards = page.locator("article.checked");
  await expect(cards).toHaveCount(2);
  await expect(cards.nth(0)).toContainText("passed");
  await expect(cards.nth(0)).toContainText("all is well");
  await expect(cards.nth(1)).toContainText("failed");
  await expect(cards.nth(1)).toContainText("before failed");
  await expect(cards.nth(1)).toContainText("exit code 1");
  await expect(cards.nth(1)).toContainText("Error: 2 is not 3");
});

test("an address of `conductor open` leads to what was named, and to no other host", async ({ page }) => {
  const run = await begin("tasks: [{ id: cart, prompt: Sleep, agent: sleeper }]");
  const printed = () => world.conductor("open", "--print", "cart").trim();
  await page.goto(printed());
  await page.waitForURL((now) => now.pathname === `/runs/${run}/tasks/cart`);
  await expect(page.getByRole("heading", { name: "cart", level: 1 })).toBeVisible();
  await page.context().clearCookies();
  const elsewhere = printed().replace(/(#[^/]*).*/, "$1//elsewhere.example/");
  await page.goto(elsewhere);
  await page.waitForURL((now) => now.pathname === "/");
  expect(new URL(page.url()).host).toBe(new URL(world.url).host);
});
