// Projects and their boards: what is done on the page is in the file, and runs.

import { expect, type Page, test } from "@playwright/test";
import { World } from "./world";

const FILE = `# the shop's tasks
tasks:
  # money first: all else counts in it
  - id: money   # the type
    name: Money type
    epic: Foundation
    run: echo m > money.txt
  - id: cart
    name: Cart
    run: echo c > cart.txt
    dependencies: [money]
  - { id: docs, name: Documents, run: "echo d > docs.txt" } # last
`;

let world: World;

test.beforeEach(async () => {
  world = new World();
  world.write("tasks.yaml", FILE);
  world.git("add", "-A");
  world.git("commit", "-qm", "tasks");
  await world.serve();
});

test.afterEach(() => world.end());

async function openBoard(page: Page, query = ""): Promise<void> {
  await world.api("POST", "/api/projects", { directory: world.repository });
  await world.open(page, `/projects/webshop${query}`);
  await expect(page.getByRole("heading", { name: "webshop" })).toBeVisible();
}

const card = (page: Page, id: string) => page.locator(`#card-${id}`);
const column = (page: Page, name: string) => page.getByRole("list", { name, exact: true });

test("a project is added by its folder, and a wrong folder is refused with the reason", async ({ page }) => {
  await world.open(page, "/projects");
  await expect(page.getByText("conductor project add")).toBeVisible();
  await page.keyboard.press("n");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Folder").fill("/nowhere");
  await dialog.getByRole("button", { name: "Add a project" }).click();
  await expect(dialog.getByRole("alert")).toContainText("/nowhere is not a folder");
  await dialog.getByLabel("Folder").fill(world.repository);
  await dialog.getByRole("button", { name: "Add a project" }).click();
  await expect(page).toHaveURL(/\/projects\/webshop$/);
  await expect(column(page, "Ready").getByRole("listitem")).toHaveCount(2);
  await expect(column(page, "Backlog").getByRole("listitem")).toHaveText(/cart.*waits for money/);
  const { projects } = (await world.api("GET", "/api/projects")) as { projects: { directory: string }[] };
  expect(projects.map((project) => project.directory)).toEqual([world.repository]);
});

test("a task is added, edited, moved and removed in the file, and comments stay", async ({ page }) => {
  await openBoard(page);
  await page.keyboard.press("n");
  const editor = page.getByRole("region", { name: "New task" });
  await editor.getByLabel("Id").fill("pay ment");
  await editor.getByLabel("Work").selectOption("run");
  await editor.getByLabel("Command").fill("echo p > pay.txt");
  await editor.getByLabel("After").fill("money, cart");
  await editor.getByRole("button", { name: "Add to tasks.yaml" }).click();
  await expect(editor.getByRole("alert").first()).toContainText("bad task id 'pay ment'");
  expect(world.read("tasks.yaml")).toBe(FILE);
  await editor.getByLabel("Id").fill("payment");
  await editor.getByRole("button", { name: "Add to tasks.yaml" }).click();
  await expect(page).toHaveURL(/task=payment/);
  await expect(page.getByRole("region", { name: "tasks.yaml", exact: true })).toContainText(
    "dependencies: [money, cart]",
  );
  expect(world.read("tasks.yaml").startsWith(FILE)).toBe(true);

  await card(page, "money").click();
  const money = page.getByRole("region", { name: "money", exact: true });
  await money.getByLabel("Name").fill("Money, with rounding");
  await money.getByLabel("Priority").selectOption("high");
  await page.keyboard.press("Control+s");
  await expect(page.getByText("money saved in tasks.yaml")).toBeVisible();
  await expect(page.locator("[data-changed]")).toHaveCount(2);
  const edited = world.read("tasks.yaml");
  expect(edited).toContain("# the shop's tasks");
  expect(edited).toContain("  # money first: all else counts in it\n  - id: money   # the type\n");
  expect(edited).toMatch(/name: "?Money, with rounding"?\n/);
  expect(edited).toContain("priority: high");
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/projects\/webshop$/);

  await card(page, "docs").focus();
  await page.keyboard.press("Alt+ArrowUp");
  await expect.poll(() => world.read("tasks.yaml").indexOf("id: docs")).toBeLessThan(edited.indexOf("id: money"));
  await expect(page.getByText("docs moved up in tasks.yaml")).toBeVisible();
  await expect(column(page, "Ready").getByRole("listitem").first()).toContainText("docs");
  await card(page, "docs").focus();
  await page.keyboard.press("Alt+ArrowLeft");
  await expect.poll(() => world.read("tasks.yaml")).toMatch(/id: docs.*priority: high|id: docs.*\n.*priority: high/);
  await expect(page.getByText("docs has the priority high now, in tasks.yaml")).toBeVisible();

  await card(page, "money").dragTo(card(page, "docs"));
  await expect
    .poll(() => world.read("tasks.yaml").indexOf("id: money") < world.read("tasks.yaml").indexOf("id: docs"))
    .toBe(true);

  await card(page, "docs").click();
  await page.getByRole("button", { name: "Remove…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect.poll(() => world.read("tasks.yaml")).not.toContain("id: docs");
  await expect(card(page, "docs")).toHaveCount(0);
  expect(world.read("tasks.yaml")).toContain("# money first: all else counts in it");
});

test("an edit of a file that was changed meanwhile is refused, and the newer version offered", async ({ page }) => {
  await openBoard(page, "?task=cart");
  const editor = page.getByRole("region", { name: "cart", exact: true });
  await editor.getByLabel("Name").fill("Cart of mine");
  const theirs = FILE.replace("name: Cart", "name: Cart of theirs").replace("[money]", "[money, docs]");
  world.write("tasks.yaml", theirs);
  await editor.getByRole("button", { name: "Save to tasks.yaml" }).click();
  const alert = editor.getByRole("alert");
  await expect(alert).toContainText("The file was changed meanwhile; nothing was written");
  await expect(alert).toContainText("was Cart, is now Cart of theirs");
  await expect(alert).toContainText("was money, is now money, docs");
  expect(world.read("tasks.yaml")).toBe(theirs);
  await alert.getByRole("button", { name: "Keep my changes on top of it" }).click();
  await expect(editor.getByLabel("Name")).toHaveValue("Cart of mine");
  await expect(editor.getByLabel("After")).toHaveValue("money, docs");
  await editor.getByRole("button", { name: "Save to tasks.yaml" }).click();
  await expect.poll(() => world.read("tasks.yaml")).toBe(theirs.replace("Cart of theirs", "Cart of mine"));

  await editor.getByLabel("Name").fill("Cart again");
  world.write("tasks.yaml", theirs);
  await editor.getByRole("button", { name: "Save to tasks.yaml" }).click();
  await alert.getByRole("button", { name: "Load the newer version" }).click();
  await expect(editor.getByLabel("Name")).toHaveValue("Cart of theirs");
  expect(world.read("tasks.yaml")).toBe(theirs);
});

test("chosen tasks are run, and land", async ({ page }) => {
  await openBoard(page);
  await card(page, "money").focus();
  await page.keyboard.press("Space");
  await card(page, "cart").focus();
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Run 2 tasks" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Cost cap").fill("1.50");
  await dialog.getByLabel("When it ends").selectOption("branch");
  await dialog.getByRole("button", { name: "Start 2 tasks" }).click();
  await expect(column(page, "Landed").getByRole("listitem")).toHaveCount(2, { timeout: 30_000 });
  await expect(column(page, "Ready").getByRole("listitem")).toHaveText(/docs/);
  const [run] = await world.runs();
  const status = (await world.api("GET", `/api/runs/${run?.run}`)) as { max_cost_usd: number; total: number };
  expect(status).toMatchObject({ max_cost_usd: 1.5, total: 2 });
  await expect.poll(() => world.git("ls-tree", "--name-only", "main")).toContain("cart.txt");
  expect(world.git("ls-tree", "--name-only", "main")).not.toContain("docs.txt");
});

test("what waits for a task at work is not ready, and is when that has landed", async ({ page }) => {
  world.write(
    "tasks.yaml",
    "tasks:\n  - { id: slow, prompt: Write it, agent: sleeper }\n" +
      "  - { id: after, prompt: Write it, agent: sleeper, dependencies: [slow] }\n",
  );
  world.start("run", "tasks.yaml", "-p", "1");
  await openBoard(page);
  await expect(column(page, "Running").getByRole("listitem")).toHaveText(/slow/, { timeout: 20_000 });
  await expect(column(page, "Backlog").getByRole("listitem")).toHaveText(/after.*waits for slow/);
  world.sign("go-slow");
  await expect(column(page, "Running").getByRole("listitem")).toHaveText(/after/, { timeout: 20_000 });
  await expect(column(page, "Backlog").getByRole("listitem")).toHaveCount(0);
});

test("the filter and the epic are in the address", async ({ page }) => {
  await openBoard(page, "?filter=do");
  await expect(page.locator(".board-card")).toHaveCount(1);
  await page.getByLabel("Filter").fill("");
  await expect(page.locator(".board-card")).toHaveCount(3);
  await page.getByLabel("Epic").selectOption("Foundation");
  await expect(page).toHaveURL(/epic=Foundation/);
  await expect(page.locator(".board-card")).toHaveCount(1);
});
