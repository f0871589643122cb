// What needs the user is done from the inbox, by what comes of it.

import { expect, type Page, test } from "@playwright/test";
import { World } from "./world";

/** Does what it is told after its question, and writes down what that was. */
const HEARS = `
read -r task
case "$task" in
  *"You asked for"*) printf '%s\\n' "$task" > "heard-$CONDUCTOR_TASK.txt" ;;
  *)
    echo half > "half-$CONDUCTOR_TASK.txt"
    echo '{"type":"question","id":1,"tool":"Bash","input":{"command":"terraform apply"}}'
    read -r refused
    read -r interrupt
    exit 1 ;;
esac
echo '{"type":"result","ok":true,"text":"done"}'
`;

let world: World;
test.beforeEach(() => {
  world = new World();
  world.addAgent("hears", HEARS);
});
test.afterEach(() => world.end());

interface Told {
  state: string;
  phase: string | null;
  attempts: number;
}

async function told(run: string, task: string): Promise<Told> {
  return (await world.api("GET", `/api/runs/${run}/tasks/${task}`)).task as Told;
}

const reaches = (run: string, task: string, state: string) =>
  expect.poll(async () => (await told(run, task)).state, { timeout: 20_000 }).toBe(state);

const isLive = (run: string) => async () => (await world.api("GET", `/api/runs/${run}`)).live;

const card = (page: Page, what: string) => page.getByRole("article", { name: what, exact: true });
const landed = (run: string, path: string) => world.git("show", `conductor/${run}:${path}`);
const asksAll = async (n: number) =>
  ((await world.api("GET", "/api/inbox")) as { items: unknown[] }).items.length === n;

test("questions are allowed, denied with words, answered and skipped", async ({ page }) => {
  const tasks = ["allowed", "denied", "answered", "skipped"];
  const lines = tasks.map((id) => `  - { id: ${id}, prompt: Deploy it, agent: hears }`);
  const run = await world.begin(
    `config: { permissions: { ask: ['Bash(terraform*)'] } }\ntasks:\n${lines.join("\n")}\n` +
      "  - { id: after, run: 'true', dependencies: [skipped] }\n  - { id: holds, prompt: Wait, agent: sleeper }\n",
    "-p",
    "5",
  );
  await expect.poll(() => asksAll(4), { timeout: 30_000 }).toBe(true);
  await expect.poll(async () => (await told(run, "skipped")).state).toBe("needs");
  // An agent behind a real CLI can also ask in words: this one is shown as if it had.
  await page.route("**/api/inbox", async (route) => {
    const asked = await world.api("GET", "/api/inbox").catch(() => null);
    // The page asks on while the server is being ended.
    if (asked === null) return route.abort().catch(() => {});
    const answer = asked as { items: { task: string; kind: string }[] };
    for (const item of answer.items) if (item.task === "answered") item.kind = "question";
    await route.fulfill({ json: answer }).catch(() => {});
  });
  await world.open(page);
  await expect(page).toHaveTitle("(4) Conductor");

  const allowed = card(page, "permission allowed");
  await expect(allowed).toContainText("terraform apply");
  await expect(allowed).toContainText(/Workspace.*workspaces/);
  await allowed.getByText("The diff so far").click();
  await expect(allowed.getByRole("region", { name: "The diff so far" })).toContainText("+half");
  await allowed.getByRole("button", { name: "Allow" }).click();
  await reaches(run, "allowed", "landed");
  expect(landed(run, "heard-allowed.txt")).toContain("It is allowed");
  await expect(allowed).toHaveCount(0);

  await card(page, "permission denied").getByRole("button", { name: "Deny with words…" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill("use the staging account");
  await page.keyboard.press("Control+Enter");
  await reaches(run, "denied", "landed");
  expect(landed(run, "heard-denied.txt")).toContain("use the staging account");

  await card(page, "question answered").getByRole("button", { name: "Answer…" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill("eu-west-1");
  await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
  await reaches(run, "answered", "landed");
  expect(landed(run, "heard-answered.txt")).toContain("eu-west-1");

  await card(page, "permission skipped").getByRole("button", { name: /^Skip/ }).click();
  await expect(page.getByRole("dialog")).toContainText("neither is 1 task that needs it");
  await page.getByRole("button", { name: "Skip the task" }).click();
  await reaches(run, "skipped", "skipped");
  await reaches(run, "after", "skipped");
  await expect(page.getByRole("heading", { name: "Nothing needs you" })).toBeVisible();
  await expect(page).toHaveTitle("Conductor");
});

test("work is approved by the commit that is shown, and sent back with words", async ({ page }) => {
  const run = await world.begin(
    `
config: { land: approve }
tasks:
  - { id: good, prompt: Write it, agent: writer }
  - { id: back, prompt: Write it, agent: writer }
  - { id: holds, prompt: Wait, agent: sleeper }
`,
    "-p",
    "3",
  );
  await expect.poll(async () => (await told(run, "good")).phase, { timeout: 20_000 }).toBe("review");
  await expect.poll(async () => (await told(run, "back")).phase, { timeout: 20_000 }).toBe("review");
  const { to } = (await world.api("GET", `/api/runs/${run}/tasks/good/diff`)) as { to: string };
  await world.open(page);
  const good = card(page, "review good");
  await expect(good).toContainText(to.slice(0, 10));
  await expect(good).toContainText("1 file +1");
  const approved = page.waitForRequest("**/review/approve");
  await good.getByRole("button", { name: "Approve and land" }).click();
  expect((await approved).postDataJSON()).toEqual({ commit: to });
  await reaches(run, "good", "landed");

  await card(page, "review back").getByRole("button", { name: "Send back…" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill("say more");
  await page.getByRole("dialog").getByRole("button", { name: "Send back" }).click();
  await expect.poll(async () => (await told(run, "back")).attempts, { timeout: 20_000 }).toBe(2);
  await expect.poll(async () => (await told(run, "back")).phase, { timeout: 20_000 }).toBe("review");
  await expect(card(page, "review back")).toContainText("2 files +2");
});

test("only the task of the card is tried again, also where the run is over", async ({ page }) => {
  const shaky = (id: string) => `{ id: ${id}, run: "echo ${id}; test -f ${world.signs}/${id}" }`;
  const run = await world.begin(
    `tasks:\n  - ${shaky("one")}\n  - ${shaky("two")}\n  - ${shaky("three")}\n  - { id: behind, run: "true", dependencies: [two] }\n`,
    "-p",
    "3",
    "--keep-going",
  );
  await expect.poll(isLive(run), { timeout: 20_000 }).toBe(false);
  world.sign("two");
  const before = await told(run, "one");
  await world.open(page, `/runs/${run}/tasks/two`);
  await page.getByRole("button", { name: /^Retry/ }).click();
  await reaches(run, "two", "completed");
  await reaches(run, "behind", "completed");
  await expect.poll(isLive(run), { timeout: 20_000 }).toBe(false);
  expect((await told(run, "one")).attempts).toBe(before.attempts);

  // The others failed alike and are one card: both of them, and nothing else.
  world.sign("one");
  world.sign("three");
  await page.goto(world.url);
  await page.getByRole("button", { name: "Retry all 2" }).click();
  await reaches(run, "one", "completed");
  await reaches(run, "three", "completed");
  expect((await told(run, "two")).attempts).toBe(before.attempts + 1);
});

test("a task that its agent cannot do is given to another one", async ({ page }) => {
  world.addAgent("unable", `read -r task\necho '{"type":"result","ok":false,"class":"rejected","text":"I cannot"}'\n`);
  const run = await world.begin("tasks:\n  - { id: hard, prompt: Write it, agent: unable }\n");
  await reaches(run, "hard", "failed");
  await expect.poll(isLive(run), { timeout: 20_000 }).toBe(false);
  await world.open(page);
  await card(page, "failed hard").getByRole("button", { name: "Retry with…" }).click();
  await page.getByRole("dialog").getByRole("combobox").selectOption("writer");
  await page.getByRole("dialog").getByRole("button", { name: "Retry" }).click();
  await reaches(run, "hard", "landed");
  expect(landed(run, "hard.txt")).toBe("by hard\n");
  expect((await told(run, "hard")) as unknown).toMatchObject({ agent: "writer" });
});

test("a run that was left is resumed, and says what else goes on with a retry", async ({ page }) => {
  const run = await world.begin(
    `tasks:\n  - { id: bad, run: "test -f ${world.signs}/bad" }\n  - { id: open, prompt: Wait, agent: sleeper }\n`,
    "-p",
    "2",
  );
  await reaches(run, "bad", "failed");
  await reaches(run, "open", "running");
  await world.api("POST", `/api/runs/${run}/stop`, {});
  await expect.poll(isLive(run), { timeout: 20_000 }).toBe(false);
  await world.open(page);
  await card(page, "failed bad").getByRole("button", { name: "Retry" }).click();
  await expect(page.getByRole("dialog")).toContainText("1 other task that has not ended goes on as well");
  await page.getByRole("dialog").getByRole("button", { name: "Go back" }).click();
  expect((await told(run, "bad")).state).toBe("failed");
  expect(await isLive(run)()).toBe(false);
  await page.getByRole("button", { name: /^Resume/ }).click();
  await expect.poll(isLive(run), { timeout: 20_000 }).toBe(true);
  await expect(page.getByRole("button", { name: /^Resume/ })).toHaveCount(0);
  // Of a live run nothing else is touched, so nothing is asked.
  world.sign("bad");
  await card(page, "failed bad").getByRole("button", { name: "Retry" }).click();
  await reaches(run, "bad", "completed");
});

test("a cap is raised while the run is live, and after it was left", async ({ page }) => {
  const run = await world.begin(
    `
limits: { max_cost: 0.01, on_budget: finish }
tasks:
  - { id: first, prompt: Write it, agent: pricey }
  - { id: then, prompt: Write it, agent: pricey, dependencies: [first] }
  - { id: last, prompt: Write it, agent: pricey, dependencies: [then, holds] }
  - { id: holds, run: "until test -f ${world.signs}/go; do sleep 0.05; done" }
`,
    "-p",
    "2",
  );
  await reaches(run, "first", "landed");
  await world.open(page);
  const raise = page.getByRole("button", { name: "Go on with a higher cap…" });
  await expect(page.getByText("what runs ends, nothing new starts")).toBeVisible();
  expect(await isLive(run)()).toBe(true);
  await raise.click();
  await page.getByRole("dialog").getByRole("textbox").fill("0.02");
  await page.keyboard.press("Enter");
  await expect(page.locator(".message")).toContainText("is used already");
  await page.getByRole("button", { name: "Close" }).click();
  // Enough for one more.
  const { known_cost_usd: spent } = (await world.api("GET", `/api/runs/${run}`)) as { known_cost_usd: number };
  await raise.click();
  await page
    .getByRole("dialog")
    .getByRole("textbox")
    .fill(String(spent * 1.5));
  await page.keyboard.press("Enter");
  await reaches(run, "then", "landed");
  expect(await isLive(run)()).toBe(true);
  // The cap is reached again, and the run comes to its end.
  world.sign("go");
  await expect.poll(isLive(run), { timeout: 20_000 }).toBe(false);
  await raise.click();
  await page.getByRole("dialog").getByRole("textbox").fill("$100");
  await page.keyboard.press("Enter");
  await reaches(run, "last", "landed");
});

test("what no agent has told is unknown, and a run that was left is not a cancelled one", async ({ page }) => {
  const run = await world.begin(
    "config: { permissions: { ask: ['Bash(terraform*)'] } }\ntasks:\n" +
      "  - { id: asks, prompt: Deploy it, agent: hears }\n" +
      "  - { id: looked-at, prompt: Write it, agent: writer, land: approve }\n" +
      "  - { id: wrong, run: 'exit 3' }\n",
    "-p",
    "3",
  );
  await expect.poll(() => asksAll(3), { timeout: 30_000 }).toBe(true);
  await world.open(page);
  await expect(card(page, "permission asks")).toContainText("unknown · open the task");
  await expect(card(page, "failed wrong")).toContainText("none · open the task");
  await expect(page.getByRole("complementary").getByRole("link", { name: "webshop · tasks.yaml" })).toBeVisible();
  await world.api("POST", `/api/runs/${run}/stop`, {});
  await expect.poll(isLive(run), { timeout: 20_000 }).toBe(false);
  const left = page.getByRole("complementary").getByRole("link", { name: /webshop · tasks.yaml/ });
  await expect(left).toContainText("stopped");
});
