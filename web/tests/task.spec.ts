// A task's screen: what is shown of it, and what is done with it.

import { expect, type Page, test } from "@playwright/test";
import { World } from "./world";

const HOSTILE = `<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>`;

const LISTENER = `
read -r task
echo '{"type":"text","text":"I listen."}'
while read -r line; do
  case "$line" in *'"words"'*) printf '%s\\n' "$line" > heard.txt; break ;; esac
done
echo '{"type":"result","ok":true,"text":"heard"}'
`;

const RUDE = `
read -r task
printf '%s\\n' '${HOSTILE.replaceAll('"', '"')}' > 'rude.html'
printf '{"type":"text","text":"\\\\u001b[2J\\\\u001b]0;owned\\\\u0007 see %s"}\\n' '<img src=x onerror=window.hacked=3>'
echo '{"type":"result","ok":true,"text":"done"}'
`;

const tasks = (world: World) => `
tasks:
  - { id: quick, name: Write a file, prompt: Write it, agent: writer }
  - { id: again, run: "test -f ${world.signs}/ok || { echo 'Error: not yet'; exit 1; }" }
  - { id: told, prompt: Listen, agent: listener }
  - { id: rude, name: '${HOSTILE}', prompt: Be rude, agent: rude }
  - { id: last, prompt: Wait, agent: sleeper }
`;

let world: World;
let run = "";

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  world = new World();
  world.addAgent("listener", LISTENER);
  world.addAgent("rude", RUDE);
  world.write("tasks.yaml", tasks(world));
  await world.serve();
  await world.api("POST", "/api/projects", { directory: world.repository });
  world.start("run", "tasks.yaml", "-p", "5");
  await expect.poll(async () => (await world.runs())[0]?.run ?? "", { timeout: 30_000 }).not.toBe("");
  run = (await world.runs())[0]?.run ?? "";
  await expect.poll(() => state("rude"), { timeout: 30_000 }).toBe("landed");
  await expect.poll(() => state("again"), { timeout: 30_000 }).toBe("failed");
});

test.afterAll(() => world.end());

async function state(task: string): Promise<string> {
  const answer = (await world.api("GET", `/api/runs/${run}/tasks/${task}`)) as { task: { state: string } };
  return answer.task.state;
}

const open = (page: Page, task: string, tab = "") => world.open(page, `/runs/${run}/tasks/${task}${tab}`);

test("what an agent said is shown as a conversation and as a log", async ({ page }) => {
  await open(page, "quick");
  await expect(page.getByRole("heading", { name: "quick", level: 1 })).toBeVisible();
  await expect(page.locator("main")).toContainText("I wrote the file.");
  await page.keyboard.press("2");
  await expect(page).toHaveURL(/\/log$/);
  await expect(page.getByRole("region", { name: "Log" })).toContainText("I wrote the file.");
  await page.keyboard.press("3");
  await expect(page.getByRole("region", { name: "Diff" })).toContainText("by quick");
  await page.keyboard.press("6");
  await expect(page.locator(".history").first()).toContainText("Landed as");
});

test("turns of a conversation: folded tools, failed ones open, text that stays text", async ({ page }) => {
  const turn = (number: number, more: object) => ({
    number,
    mark: number,
    text: "",
    at_ms: 1_794_900_000_000,
    ...more,
  });
  const turns = [
    turn(1, { who: "conductor", kind: "text", text: "Do the task." }),
    turn(2, { who: "agent", kind: "text", text: `Look at \`a.ts\` ${HOSTILE}\n\n\`\`\`\n${HOSTILE}\n\`\`\`` }),
    turn(3, {
      who: "tool",
      kind: "tool",
      text: "src/a.ts",
      tool: { name: "Read", result: { text: "fine\nlines" }, duration_ms: 120 },
    }),
    turn(4, {
      who: "tool",
      kind: "tool",
      text: "pnpm test",
      failed: true,
      tool: {
        name: "Bash",
        input: { text: '{"command":"pnpm test"}' },
        result: { text: "ok 1\nError: boom" },
        exit_code: 2,
        duration_ms: 14_000,
      },
    }),
    ...Array.from({ length: 3000 }, (_, at) => turn(5 + at, { who: "agent", kind: "text", text: `step ${at}` })),
  ];
  const said = {
    attempt: 1,
    attempts: 1,
    agent: "claude",
    model: null,
    at_work: false,
    prompt: "Do the task.",
    next_since: 9000,
    more: false,
    skipped_lines: 0,
    turns_left_out: 0,
  };
  await page.route("**/conversation?**", (route) => {
    const since = new URL(route.request().url()).searchParams.get("since");
    return route.fulfill({ json: { schema: "conductor.conversation/1", ...said, turns: since === "0" ? turns : [] } });
  });
  await open(page, "quick");
  await expect(page.getByText("3002 messages, 2 tool calls")).toBeVisible();
  await expect(page.getByRole("button", { name: /Read src\/a\.ts/ })).toHaveAttribute("aria-expanded", "false");
  const bash = page.getByRole("button", { name: /Bash pnpm test/ });
  await expect(bash).toHaveAttribute("aria-expanded", "true");
  await expect(bash).toContainText("exit 2");
  await expect(bash).toContainText("14 s");
  await expect(page.locator(".line.wrong", { hasText: "Error: boom" })).toBeVisible();
  await expect(page.locator(".words code").first()).toHaveText("a.ts");
  await page.keyboard.press("e");
  await expect(page.getByText("1 of 1")).toBeVisible();
  // Only what is in sight is drawn.
  expect(await page.locator(".turn").count()).toBeLessThan(120);
  await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
  await expect(page.getByText("step 2999")).toBeVisible();
  await expectHarmless(page);
});

async function expectHarmless(page: Page): Promise<void> {
  expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
  expect(await page.locator("main img, main script, main iframe").count()).toBe(0);
}

test("a script in a title, a log or a diff does nothing, nor do escape codes", async ({ page }) => {
  page.on("dialog", (dialog) => {
    throw new Error(`a dialog: ${dialog.message()}`);
  });
  await open(page, "rude");
  await expect(page.locator(".task-head")).toContainText(HOSTILE);
  await expectHarmless(page);
  await page.keyboard.press("2");
  const log = page.getByRole("region", { name: "Log" });
  await expect(log).toContainText("<img src=x onerror=window.hacked=3>");
  const codes = [...((await log.textContent()) ?? "")].map((letter) => letter.charCodeAt(0));
  expect(codes.filter((code) => code < 32)).toEqual([]);
  await expect(page).toHaveTitle(/Conductor/);
  await expectHarmless(page);
  await page.keyboard.press("3");
  await expect(page.getByRole("region", { name: "Diff" })).toContainText(HOSTILE);
  await expectHarmless(page);
});

test("words are sent to the agent that is at work", async ({ page }) => {
  await open(page, "told");
  await expect(page.getByText("running", { exact: true }).first()).toBeVisible();
  await page.keyboard.press("s");
  await page.getByRole("dialog").getByRole("textbox").fill("use the constant");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect.poll(() => state("told"), { timeout: 20_000 }).toBe("landed");
  expect(world.git("show", `conductor/${run}:heard.txt`)).toContain("use the constant");
  // The page has heard of it by itself.
  await expect(page.locator(".task-head .state").first()).toHaveText("landed");
});

test("a failed task shows its error, and is tried again", async ({ page }) => {
  await open(page, "again", "/log");
  await expect(page.locator(".log .line.wrong")).toContainText("Error: not yet");
  await expect(page.locator(".task-need")).toContainText("If you do nothing:");
  world.sign("ok");
  await page.getByRole("button", { name: /^Retry/ }).click();
  await expect.poll(() => state("again"), { timeout: 20_000 }).toBe("completed");
  await expect(page.locator(".task-head .state").first()).toHaveText("completed");
  // The log of the first attempt is still there.
  await page.getByRole("link", { name: /Attempt 1/ }).click();
  await expect(page).toHaveURL(/attempt=1/);
  await expect(page.locator(".log")).toContainText("Error: not yet");
});

test("a task that has ended says why it cannot be cancelled; one at work is", async ({ page }) => {
  await open(page, "quick");
  await page.getByRole("button", { name: /^Cancel/ }).click({ force: true });
  await expect(page.getByText("The task has ended.")).toBeVisible();
  await open(page, "last");
  await expect(page.getByRole("heading", { name: "last", level: 1 })).toBeVisible();
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Cancel the task" }).click();
  await expect.poll(() => state("last"), { timeout: 20_000 }).toBe("cancelled");
});
