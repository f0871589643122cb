// The graph: moved along its lines with the keys, told in words, and with ten thousand tasks still moved without jerks.

import { expect, test } from "@playwright/test";
import { World } from "./world";

let world: World;
test.beforeEach(() => {
  world = new World();
});
test.afterEach(() => world.end());

const FEW = `
tasks:
  - { id: one, prompt: Write it, agent: sleeper }
  - { id: two, run: "echo 2 > two.txt", dependencies: [one] }
  - { id: three, run: "echo 3 > three.txt", dependencies: [two] }
`;

test("arrows go along the lines, Enter opens, and the picture is told in words", async ({ page }) => {
  world.write("tasks.yaml", FEW);
  await world.serve();
  world.start("run", "tasks.yaml");
  await expect.poll(async () => (await world.runs())[0]?.live).toBe(true);
  const run = (await world.runs())[0]?.run ?? "";
  await world.open(page, `/runs/${run}/graph`);
  const picture = page.getByRole("img", { name: /^Graph of 3 tasks/ });
  await expect(picture).toHaveAccessibleName(/1 running, 2 pending/);
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/task=one/);
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/task=two/);
  await page.keyboard.press("ArrowLeft");
  await expect(page).toHaveURL(/task=one/);
  world.sign("go");
  await expect(picture).toHaveAccessibleName(/3 (landed|completed)/);
  await page.keyboard.press("t");
  await expect(page.getByRole("row", { name: /two.*one.*three.*yes/ })).toBeVisible();
  await page.keyboard.press("t");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/runs/${run}/tasks/one`));
});

test("a graph of ten thousand tasks and thirty thousand lines is moved and zoomed", async ({ page }) => {
  test.setTimeout(180_000);
  const lines = Array.from({ length: 10_000 }, (_, at) => {
    const before = [1, 7, 31].map((by) => at - 100 - by * (at % 3)).filter((on) => on >= 0);
    const on = [...new Set(before)].map((one) => `t${one}`).join(", ");
    return `  - { id: t${at}, run: "true"${on ? `, dependencies: [${on}]` : ""} }`;
  });
  world.write("tasks.yaml", `tasks:\n${lines.join("\n")}\n`);
  await world.serve();
  // What matters is the graph, not the run: it is left as soon as it is there.
  const running = world.start("run", "tasks.yaml", "-p", "1");
  await expect.poll(async () => (await world.runs())[0]?.run, { timeout: 60_000 }).toBeTruthy();
  running.kill("SIGTERM");
  await expect.poll(async () => (await world.runs())[0]?.live, { timeout: 60_000 }).toBe(false);
  const run = (await world.runs())[0]?.run ?? "";
  await world.open(page, `/runs/${run}/graph?fold=none`);
  const canvas = page.locator(".graph > canvas");
  await canvas.waitFor({ timeout: 60_000 });
  await page.locator(".graph-tools").waitFor();
  await page.getByRole("button", { name: "Closer" }).click();
  await expect(page.locator(".mini-map")).toBeVisible({ timeout: 60_000 });
  const box = await canvas.boundingBox();
  if (!box) throw new Error("there is no picture");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const frames = page.evaluate(async () => {
    const took: number[] = [];
    let last = performance.now();
    const end = last + 4000;
    while (last < end) {
      await new Promise((next) => requestAnimationFrame(next));
      const now = performance.now();
      took.push(now - last);
      last = now;
    }
    return took.sort((a, b) => a - b);
  });
  for (let step = 0; step < 30; step += 1) await page.mouse.wheel(0, step % 10 < 5 ? -120 : 120);
  await page.mouse.down();
  for (let step = 0; step < 40; step += 1) {
    await page.mouse.move(
      box.x + box.width / 2 + Math.sin(step / 4) * 300,
      box.y + box.height / 2 + Math.cos(step / 4) * 200,
    );
  }
  await page.mouse.up();
  const took = await frames;
  const [middle, most] = [took[Math.floor(took.length / 2)] ?? 0, took.at(-1) ?? 0];
  console.log(`frames: ${took.length}, middle ${middle.toFixed(1)} ms, longest ${most.toFixed(1)} ms`);
  // Something is drawn: not all of it is of one colour.
  const colours = await canvas.evaluate((element) => {
    const to = (element as HTMLCanvasElement).getContext("2d");
    const { width, height } = element as HTMLCanvasElement;
    const seen = new Set<number>();
    const { data } = to?.getImageData(0, 0, width, height) ?? { data: new Uint8ClampedArray() };
    for (let at = 0; at < data.length; at += 4)
      seen.add(((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0));
    return seen.size;
  });
  expect(colours).toBeGreaterThan(2);
});
