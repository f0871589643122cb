// From words to a landed run, by way of a planner; and agents that are tested.

import { expect, test } from "@playwright/test";
import { addPlanner } from "./planner";
import { World } from "./world";

let world: World;

test.beforeEach(async () => {
  world = new World();
  world.write("tasks.yaml", "# ours\ntasks:\n  - { id: other, run: echo o > other.txt } # stays\n");
  world.git("add", "-A");
  world.git("commit", "-qm", "tasks");
  addPlanner(world);
  await world.serve();
  await world.api("POST", "/api/projects", { directory: world.repository });
});

test.afterEach(() => world.end());

test("words become a plan, the plan is changed, put into the file, and lands", async ({ page }) => {
  await world.open(page, "/new/webshop");
  await page.getByLabel("Say what you want").last().fill("Customers can return an order.");
  await page.getByLabel("Planner", { exact: true }).fill("planner");
  await page.getByRole("button", { name: "Plan", exact: true }).click();
  await expect(page.getByText("Planned for $0.01, 2.2K tokens.")).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText("A store and a door to it.")).toBeVisible();
  await expect(page).toHaveURL(/job=/);
  expect(await world.runs()).toEqual([]);
  await page.reload();
  await page.getByLabel("Include mails").uncheck();
  await page.getByText("Request a return").click();
  await page.getByLabel("Name", { exact: true }).locator("visible=true").fill("Ask for a return");
  await page.getByRole("button", { name: "Add 2 tasks to tasks.yaml" }).click();
  await expect(page.getByText("2 tasks added to tasks.yaml")).toBeVisible();
  const file = world.read("tasks.yaml");
  expect(file).toContain("# ours\ntasks:\n  - { id: other, run: echo o > other.txt } # stays\n");
  expect(file).toContain("Ask for a return");
  expect(file).not.toContain("mails");

  await expect(page.getByLabel("Include other")).not.toBeChecked();
  await expect(page.getByLabel("Include door")).toBeChecked();
  await page.getByRole("button", { name: /^2 slots:/ }).click();
  await expect(page.getByLabel("Tasks at once")).toHaveValue("2");
  await page.getByLabel("Cost cap").fill("4");
  await page.getByRole("button", { name: "Start 2 tasks" }).click();
  await expect.poll(async () => (await world.runs())[0]?.state, { timeout: 30_000 }).toBe("completed");
  const [run] = await world.runs();
  expect(await world.api("GET", `/api/runs/${run?.run}`)).toMatchObject({ total: 2, slots: 2, max_cost_usd: 4 });
  const landed = () => world.git("ls-tree", "--name-only", `conductor/${run?.run}`).split("\n");
  expect(landed()).toEqual(expect.arrayContaining(["door.txt", "store.txt"]));
  expect(landed()).not.toContain("other.txt");
});

test("a planner that fails says why, and nothing starts", async ({ page }) => {
  await world.open(page, "/new/webshop");
  await page.getByLabel("Say what you want").last().fill("Do it.");
  await page.getByLabel("Planner", { exact: true }).fill("writer");
  await page.getByRole("button", { name: "Plan", exact: true }).click();
  await expect(page.getByText("There is no plan")).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText("there is no JSON object in the answer")).toBeVisible();
  expect(await world.runs()).toEqual([]);
});

test("the file as it is can be started, and what it takes is rehearsed", async ({ page }) => {
  await world.open(page, "/new/webshop?from=file");
  await expect(page.getByText("of all 1 task in the file")).toBeVisible();
  await page.getByRole("button", { name: "Start 1 task" }).click();
  await expect.poll(async () => (await world.runs())[0]?.state, { timeout: 30_000 }).toBe("completed");
});

test("an agent is tested after a question, and the result is told", async ({ page }) => {
  await world.open(page, "/agents");
  await page
    .getByRole("row", { name: /^installed writer/ })
    .getByRole("button", { name: "Test…" })
    .click();
  await expect(page.getByRole("dialog")).toContainText("This costs a little");
  await page.getByRole("dialog").getByRole("button", { name: "Test it" }).click();
  await expect(page.getByText("writer did not pass:")).toBeVisible({ timeout: 30_000 });
  const { entries } = (await world.api("GET", "/api/audit")) as { entries: { path: string }[] };
  expect(entries.map((entry) => entry.path)).toContain("/api/agents/test");
});
