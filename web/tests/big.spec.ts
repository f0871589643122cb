// A run of ten thousand tasks opens at once and scrolls without jerks.

import { expect, test } from "@playwright/test";
import { World } from "./world";

const TASKS = 10_000;

let world: World;
test.beforeEach(() => {
  world = new World();
});
test.afterEach(() => world.end());

test("ten thousand tasks open and scroll", async ({ page }) => {
  test.setTimeout(180_000);
  const lines = Array.from(
    { length: TASKS },
    (_, n) => `  - { id: t${n}, name: Task number ${n}, epic: Epic ${n % 20}, run: "true" }`,
  );
  world.write("tasks.yaml", `tasks:\n${lines.join("\n")}\n`);
  await world.serve();
  world.start("run", "tasks.yaml", "-p", "1");
  await expect.poll(async () => (await world.runs())[0]?.live, { timeout: 60_000 }).toBe(true);
  const run = (await world.runs())[0]?.run ?? "";
  await expect
    .poll(
      () =>
        world.api("POST", `/api/runs/${run}/stop`, {}).then(
          () => true,
          () => false,
        ),
      { timeout: 30_000 },
    )
    .toBe(true);
  await expect.poll(async () => (await world.runs())[0]?.live, { timeout: 60_000 }).toBe(false);
  await world.open(page, "/");
  const before = Date.now();
  await page.goto(`${world.url}/runs/${run}?group=none`);
  await page.locator(".table-row").first().waitFor();
  const first = Date.now() - before;
  await expect(page.locator(".run-head")).toContainText("10,000");
  const answered = await page.evaluate(() => {
    const asked = performance.getEntriesByType("resource").find((one) => one.name.includes("/changes"));
    return asked ? Math.round(asked.duration) : 0;
  });
  // The graph is read for the estimate once the rows are there.
  await page.waitForLoadState("networkidle");

  const frames = await page.evaluate(async () => {
    const took: number[] = [];
    let last = performance.now();
    for (let n = 0; n < 150; n += 1) {
      window.scrollBy(0, n % 30 === 29 ? 40_000 : 700);
      await new Promise((next) => requestAnimationFrame(next));
      const now = performance.now();
      took.push(now - last);
      last = now;
    }
    return took.sort((a, b) => a - b);
  });
  const [middle, most] = [frames[Math.floor(frames.length / 2)] ?? 0, frames.at(-1) ?? 0];
  console.log(
    `first row after ${first} ms, of which the server ${answered} ms; frames: middle ${middle.toFixed(1)} ms, longest ${most.toFixed(1)} ms`,
  );
  // What is drawn is what is seen, not all.
  expect(await page.locator(".table-row").count()).toBeLessThan(100);
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await expect(page.locator("#row-t9999")).toBeVisible();

  // Also where the page is there before the tasks are.
  await page.route("**/changes*", async (route) => {
    await new Promise((next) => setTimeout(next, 1000));
    await route.continue();
  });
  await page.goto(`${world.url}/runs/${run}?group=none&task=t7321`);
  await expect(page.locator("#row-t7321")).toBeInViewport();
  await page.goto(`${world.url}/runs/${run}`);
  await expect(page.locator(".table-group").first()).toContainText("Epic 0");
});
