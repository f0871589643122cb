// What a project has taught is added, changed and retired on the page.

import { expect, test } from "@playwright/test";
import { World } from "./world";

let world: World;

test.beforeAll(async () => {
  world = new World();
  world.write("tasks.yaml", "tasks:\n  - { id: one, run: echo 1 > one.txt }\n");
  await world.serve();
  await world.api("POST", "/api/projects", { directory: world.repository });
});

test.afterAll(() => world.end());

test("an item is added, changed, retired and restored", async ({ page }) => {
  await world.open(page, "/projects/webshop");
  await page.getByRole("link", { name: "Expertise" }).click();
  await expect(page.getByText("Nothing was learned here yet")).toBeVisible();
  await page.getByRole("button", { name: "Add…" }).click();
  await page.locator("dialog textarea").fill("Handlers return Problem.");
  await page.getByRole("button", { name: "Add it" }).click();
  const row = page.locator("tbody tr", { hasText: "Handlers return" });
  await expect(row).toContainText("Handlers return Problem.");
  await row.getByRole("button", { name: "Edit…" }).click();
  await page.locator("dialog textarea").fill("Handlers return Result.");
  await page.getByRole("button", { name: "Change it" }).click();
  await expect(row).toContainText("Handlers return Result.");
  await row.getByRole("button", { name: "Retire" }).click();
  await expect(row).toHaveCount(0);
  await page
    .getByRole("radio", { name: "all" })
    .or(page.getByRole("button", { name: "all", exact: true }))
    .first()
    .click();
  await row.getByRole("button", { name: "Restore" }).click();
  await expect(row).toContainText("given");
});
