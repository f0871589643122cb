// A review on the page, and the real Claude Code that mends what a comment on a line asks for. A stand-in is its model.

import { expect, test } from "@playwright/test";
import { missing, StandIn } from "./claude";
import { World } from "./world";

const TASKS = `
config: { land: approve, agent: claude }
tasks:
  - { id: hold, prompt: Hold stock while it is in a cart, verify: ["grep -q HOLD_FOR src/hold.ts"] }
  - { id: open, prompt: Wait, agent: sleeper }
`;

const STEPS = [
  { text: "I write it." },
  {
    write_file: {
      path: "src/hold.ts",
      content: "// How long stock is held.\nexport const HOLD_FOR = 15; // minutes\n",
    },
  },
  { final: { text: "Stock is held." } },
  { edit: { path: "src/hold.ts", old: "15; // minutes", new: "900; // seconds" } },
  { final: { text: "It is in seconds now." } },
];

test("a comment on a line goes back to Claude Code, which mends it, and it lands", async ({ page }) => {
  const why = missing();
  test.skip(why !== null, why ?? "");
  test.setTimeout(240_000);
  const world = new World();
  const model = await StandIn.start(world, STEPS);
  try {
    // The other one keeps the run from being left for the review.
    const run = await world.begin(TASKS, "-p", "2");
    const told = async () =>
      (await world.api("GET", `/api/runs/${run}/tasks/hold`)).task as {
        state: string;
        phase: string | null;
        attempts: number;
        last_tool: { tool: string } | null;
      };
    await expect.poll(async () => (await told()).phase, { timeout: 90_000 }).toBe("review");
    expect((await told()).last_tool?.tool).toBe("Write");
    await world.open(page, `/runs/${run}/review/hold`);
    await page.getByRole("button", { name: "Comment on line 2 of src/hold.ts" }).click();
    await page.getByRole("textbox", { name: "What should the agent change here?" }).fill("Count in seconds");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: /Send back with 1 comment/ }).click();
    await expect.poll(async () => (await told()).attempts, { timeout: 90_000 }).toBe(2);
    await expect.poll(async () => (await told()).phase, { timeout: 90_000 }).toBe("review");
    // Its own words reached the model, in the same conversation.
    expect(await model.asked()).toContain("Count in seconds");
    await expect(page.getByRole("region", { name: "Diff" })).toContainText("HOLD_FOR = 900; // seconds");
    await page.keyboard.press("a");
    await expect.poll(async () => (await told()).state, { timeout: 60_000 }).toBe("landed");
    expect(world.git("show", `conductor/${run}:src/hold.ts`)).toContain("HOLD_FOR = 900; // seconds");
  } finally {
    await world.end();
    model.end();
  }
});
