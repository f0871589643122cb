// Two tasks change the same line: the second one's conflict is solved on the page, and lands.

import { readFileSync } from "node:fs";
import { AxeBuilder } from "@axe-core/playwright";
import { expect, test } from "@playwright/test";
import { World } from "./world";

/** Both have changed the line before either is done. */
const LINE = `
read -r task
sed -i "s/^two$/two by $CONDUCTOR_TASK/; s/^six$/six by $CONDUCTOR_TASK/" f.txt
touch "$SIGNS/$CONDUCTOR_TASK"
while [ ! -f "$SIGNS/left" ] || [ ! -f "$SIGNS/right" ]; do sleep 0.05; done
echo '{"type":"result","ok":true,"text":"done"}'
`;

const TASKS = `
config: { fix_rounds: 0, retry_policy: { max_attempts: 1 } }
tasks:
  - { id: left, prompt: change it, agent: line }
  - { id: right, prompt: change it, agent: line, verify: ["test -s f.txt"] }
`;

/** Places that are near to each other are one to git. */
const BETWEEN = Array.from({ length: 12 }, (_, at) => `between ${at}\n`).join("");

let world: World;
let run = "";
/** The one that came second. */
let late = "";

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  world = new World();
  world.addAgent("line", LINE);
  world.write("f.txt", `one\ntwo\n${BETWEEN}six\nseven\n`);
  world.write("tasks.yaml", TASKS);
  world.git("add", "-A");
  world.git("commit", "-qm", "numbers");
  await world.serve();
  await world.api("POST", "/api/projects", { directory: world.repository });
  world.conductor("run", "tasks.yaml", "-p", "2", "--allow-overlap");
  run = (await world.runs())[0]?.run ?? "";
  const { tasks } = (await world.api("GET", `/api/runs/${run}/tasks`)) as { tasks: { id: string; state: string }[] };
  late = tasks.find((task) => task.state === "conflict")?.id ?? "";
  expect(late, JSON.stringify(tasks)).not.toBe("");
});

test.afterAll(() => world.end());

for (const scheme of ["light", "dark"] as const) {
  for (const width of [1440, 390]) {
    test(`how it looks, ${scheme} ${width}`, async ({ browser }) => {
      const context = await browser.newContext({
        colorScheme: scheme,
        reducedMotion: "reduce",
        viewport: { width, height: width > 1000 ? 1000 : 844 },
      });
      const page = await context.newPage();
      await world.api("POST", `/api/runs/${run}/tasks/${late}/conflict/resolve`, {});
      await world.open(page, `/runs/${run}/conflicts/${late}`);
      await page.locator(".dispute").first().waitFor();
      await page
        .getByRole("button", { name: /Take both/ })
        .first()
        .click();
      await page.screenshot({ path: `../target/page-screens/conflict-${width}-${scheme}.png` });
      const found = await new AxeBuilder({ page })
        .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"])
        .analyze();
      expect(found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(" | ")}`)).toEqual(
        [],
      );
      await context.close();
    });
  }
}

test("only files of the conflict can be written, and none outside of the folder", async () => {
  const write = (path: string) =>
    world.api("POST", `/api/runs/${run}/tasks/${late}/conflict/files`, { path, text: "x" });
  for (const path of ["../out.txt", "/etc/conductor-test", ".git/config", "tasks.yaml", "f.txt/../../x"])
    await expect(write(path), path).rejects.toThrow(/422|409/);
  expect(readFileSync(`${world.repository}/tasks.yaml`, "utf8")).toBe(TASKS);
});

test("a conflict is given up, laid out again, decided place by place, and lands", async ({ page }) => {
  await world.open(page, `/runs/${run}/conflicts/${late}`);
  await page.getByRole("button", { name: "Give it up…" }).click();
  await page.getByRole("button", { name: "Give it up", exact: true }).click();
  await page.getByRole("button", { name: "Resolve it here" }).click();
  const first = page.getByRole("region", { name: "Conflict 1 of 2" });
  await expect(first.getByRole("region", { name: "Before" })).toHaveText("two\n");
  await expect(first.getByRole("region", { name: late })).toHaveText(`two by ${late}\n`);
  await page.getByRole("button", { name: /Check and land/ }).click({ force: true });
  await expect(page.getByText("1 file is not decided yet.")).toBeVisible();
  await first.getByRole("button", { name: /Take both/ }).click();
  const second = page.getByRole("region", { name: "Conflict 2 of 2" });
  await second.getByRole("button", { name: /^Edit/ }).click();
  await second.getByRole("textbox").fill("six by both");
  await second.getByRole("button", { name: "Edit" }).last().click();
  await page.getByRole("button", { name: /Check and land/ }).click();
  await expect(page).toHaveURL(new RegExp(`/tasks/${late}$`), { timeout: 30_000 });
  const other = late === "left" ? "right" : "left";
  expect(world.git("show", `conductor/${run}:f.txt`)).toBe(
    `one\ntwo by ${other}\ntwo by ${late}\n${BETWEEN}six by both\nseven\n`,
  );
  await expect(page.locator(".task-head .state").first()).toHaveText("landed");
  const { entries } = (await world.api("GET", "/api/audit")) as { entries: { path: string }[] };
  expect(entries.some((entry) => entry.path.endsWith("/conflict/files"))).toBe(true);
});
