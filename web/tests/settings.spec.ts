// Settings: users, tokens and hooks that are made on the page can be used, and the record says who made them.

import { type Browser, expect, type Page, test } from "@playwright/test";
import { World } from "./world";

let world: World;

test.beforeEach(async () => {
  world = new World();
  world.write("tasks.yaml", "config: { max_cost: 5 }\ntasks:\n  - { id: one, run: echo 1 > one.txt }\n");
  world.git("add", "-A");
  world.git("commit", "-qm", "tasks");
  await world.serve();
  await world.api("POST", "/api/projects", { directory: world.repository });
});

test.afterEach(() => world.end());

const as = (token: string, path: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${world.port}${path}`, { headers: { authorization: `Bearer ${token}` } });

test("a token is told once, works, and is revoked", async ({ page }) => {
  await world.open(page, "/settings/tokens");
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.getByLabel("What it is for").fill("the night build");
  await page.getByLabel("Only in").selectOption("webshop");
  await page.getByRole("dialog").getByRole("button", { name: "Make a token" }).click();
  const token = (await page.locator("[data-secret]").textContent())?.trim() ?? "";
  expect(token).toMatch(/^cdt_/);
  expect((await as(token, "/api/projects/webshop")).status).toBe(200);
  await page.getByRole("button", { name: "Done" }).click();
  await page.reload();
  await expect(page.getByRole("row", { name: /the night build/ })).toContainText("viewer (webshop)");
  await expect(page.locator("body")).not.toContainText(token);
  await page.getByRole("button", { name: "Revoke…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("row", { name: /the night build/ })).toContainText("revoked");
  expect((await as(token, "/api/projects/webshop")).status).toBe(401);
});

async function openAs(browser: Browser, name: string, password: string, path: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${world.url}${path}`);
  await page.getByLabel("User").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
  return page;
}

test("a user who may only look is told why the rest is not possible, and the record shows it all", async ({
  page,
  browser,
}) => {
  await world.open(page, "/settings/users");
  await page.getByRole("button", { name: "Add a user" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("vera");
  await dialog.getByLabel("Password").fill("short");
  await dialog.getByRole("button", { name: "Add a user" }).click();
  await expect(dialog.getByRole("alert")).toContainText("10");
  await dialog.getByLabel("Password").fill("a long password");
  await dialog.getByRole("button", { name: "Add a user" }).click();
  await expect(page.getByRole("row", { name: /vera/ })).toContainText("viewer (all projects)");

  const vera = await openAs(browser, "vera", "a long password", "/projects/webshop?task=one");
  const why = "This needs the role operator; you have viewer here.";
  const run = vera.getByRole("button", { name: "Run what is not done" });
  await expect(run).toHaveAttribute("title", why);
  await run.click({ force: true });
  await expect(vera.getByText(why)).toBeVisible();
  await expect(vera.getByRole("dialog")).toHaveCount(0);
  await expect(vera.getByRole("button", { name: "Save to tasks.yaml" })).toHaveAttribute(
    "title",
    "This needs the role admin; you have viewer here.",
  );
  await vera.goto(`${world.url}/settings/users`);
  await expect(vera.getByText("This needs the role admin; you have viewer here.")).toBeVisible();
  expect(await world.runs()).toEqual([]);

  await page.getByRole("button", { name: "Set role…" }).click();
  await dialog.getByLabel("Role").selectOption("operator");
  await dialog.getByLabel("In", { exact: true }).selectOption("webshop");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("row", { name: /vera/ })).toContainText("operator (webshop)");
  await vera.goto(`${world.url}/projects/webshop`);
  await expect(run).not.toHaveAttribute("aria-disabled", "true");

  await page.getByRole("button", { name: "Disable…" }).click();
  await dialog.getByRole("button", { name: "Disable" }).click();
  await expect(page.getByRole("row", { name: /vera/ })).toContainText("disabled");
  await vera.reload();
  await expect(vera.getByLabel("Password")).toBeVisible();

  await page.goto(`${world.url}/settings/audit?filter=users`);
  await expect(page.getByRole("row", { name: /done 201.*POST \/api\/users.*owner/ })).toHaveCount(1);
  await expect(page.getByRole("row", { name: /refused 422.*POST \/api\/users/ })).toHaveCount(1);
  await expect(page.getByRole("row", { name: /PATCH \/api\/users\/vera/ })).toHaveCount(2);
});

test("an admin of one project is told that users are for admins of all", async ({ browser }) => {
  const adam = { name: "adam", password: "a long password", role: "admin", project: "webshop" };
  await world.api("POST", "/api/users", adam);
  const page = await openAs(browser, "adam", adam.password, "/settings/users");
  const why = "This needs the role admin in all projects.";
  await expect(page.getByText(why)).toBeVisible();
  await expect(page.getByRole("button", { name: "Add a user" })).toHaveAttribute("title", why);
  await page.goto(`${world.url}/projects/webshop`);
  await expect(page.getByRole("button", { name: "Run what is not done" })).not.toHaveAttribute("aria-disabled", "true");
});

test("a hook that is made starts a run with its cap", async ({ page }) => {
  await world.open(page, "/settings/hooks");
  await page.getByRole("button", { name: "Make a hook" }).click();
  await page.getByLabel("What it is for").fill("ci");
  await page.getByLabel("Cost cap").fill("0.75");
  await page.getByRole("dialog").getByRole("button", { name: "Make a hook" }).click();
  const url = (await page.locator("[data-secret]").textContent())?.trim() ?? "";
  const answer = await fetch(url.replace("conductor.localhost", "127.0.0.1"), { method: "POST" });
  expect(answer.status).toBe(202);
  const { run } = (await answer.json()) as { run: string };
  await expect.poll(async () => (await world.api("GET", `/api/runs/${run}`)).state).toBe("completed");
  expect(await world.api("GET", `/api/runs/${run}`)).toMatchObject({ max_cost_usd: 0.75 });
});

test("every setting says where its value comes from", async ({ page }) => {
  await world.open(page, "/settings/config?show=changed");
  await expect(page.getByRole("row", { name: /max_cost 5 tasks.yaml:1/ })).toBeVisible();
  await page.getByRole("button", { name: "all", exact: true }).click();
  await expect(page.getByRole("row", { name: /isolation .* built in/ })).toBeVisible();
});

test("logging out ends the session", async ({ page }) => {
  await world.open(page, "/settings/about");
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByLabel("Password")).toBeVisible();
  expect(await page.evaluate(async () => (await fetch("/api/me")).status)).toBe(401);
});
