// Every screen at both widths in both schemes, for people to look at: target/page-screens.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, expect, type Page, test } from "@playwright/test";
import { addPlanner } from "./planner";
import { World } from "./world";

const CART = `import type { Sku } from "./sku";

export class Cart {
  private lines = new Map<Sku, number>();

  add(sku: Sku, quantity: number) {
    this.lines.set(sku, (this.lines.get(sku) ?? 0) + quantity);
  }

  total(prices: Map<Sku, number>): number {
    let total = 0;
    for (const [sku, many] of this.lines) total += many * (prices.get(sku) ?? 0);
    return total;
  }
}
`;

const TASKS = `
config: { permissions: { ask: ['Bash(terraform*)'] } }
tasks:
  - { id: money-type, name: Money type with rounding rules, epic: Foundation, prompt: Write it, agent: pricey, max_cost: 2 }
  - { id: db-schema, name: Orders and payments, epic: Foundation, prompt: Write it, agent: pricey }
  - { id: api-errors, name: Problem bodies for errors, epic: Foundation, run: "echo e > api-errors.txt" }
  - { id: cart-api, name: Cart endpoints, epic: Cart, prompt: Write it, agent: sleeper, dependencies: [db-schema] }
  - { id: stock-hold, name: Hold stock for 15 minutes, epic: Cart, prompt: "Hold stock for 15 minutes when a line is added to the cart.", agent: coder, dependencies: [money-type], land: approve, verify: ["test -s src/stock-hold.ts", "echo 18 passed"] }
  - { id: webhooks, name: "Payment webhooks, each once", epic: Payments, prompt: Deploy it, agent: asker, dependencies: [db-schema] }
  - { id: address-form, name: Address form by country, epic: Storefront, run: "echo 'expected \\"1012 AB\\" to match'; exit 1", dependencies: [api-errors] }
  - { id: a11y-pass, name: Keyboard and screen reader, epic: Storefront, run: "true", dependencies: [address-form] }
  - { id: refunds, name: Full and partial refunds, epic: Payments, prompt: Write it, agent: writer, dependencies: [webhooks] }
  - { id: changelog, name: Say what changed, epic: Storefront, run: "echo c > changelog.txt", dependencies: [refunds, cart-api] }
`;

type Doing = (page: Page) => Promise<unknown>;

/** Name, address, what has to be there before it is looked at, and what is done there first. */
const SCREENS: [string, (run: string) => string, string?, Doing?][] = [
  ["inbox", () => "/", "article"],
  ["graph", (run) => `/runs/${run}/graph`, ".graph canvas"],
  ["graph-table", (run) => `/runs/${run}/graph?as=table`, ".table-row"],
  ["timeline", (run) => `/runs/${run}/timeline`, ".timeline canvas"],
  ["runs", () => "/runs", "[role=row] b"],
  ["run", (run) => `/runs/${run}`, "[role=gridcell]"],
  ["run-panel", (run) => `/runs/${run}?task=webhooks`, "[role=gridcell]"],
  ["run-failed", (run) => `/runs/${run}?state=failed&task=address-form`, "[role=gridcell]"],
  ["run-board", (run) => `/runs/${run}/board?task=stock-hold`, ".run-card"],
  ["run-cost", (run) => `/runs/${run}/cost`, "[role=cell]"],
  ["run-events", (run) => `/runs/${run}/events?event=8`, ".events-row"],
  ["compare", (run) => `/runs/compare/${run}/${run}`, "[role=cell]"],
  ["task-conversation", (run) => `/runs/${run}/tasks/stock-hold`, ".log-lines, .turn"],
  ["task-asks", (run) => `/runs/${run}/tasks/webhooks`, "article"],
  ["task-log", (run) => `/runs/${run}/tasks/address-form/log`, ".log-lines"],
  ["task-diff", (run) => `/runs/${run}/tasks/stock-hold/diff`, ".diff-line"],
  ["task-checks", (run) => `/runs/${run}/tasks/stock-hold/checks`, ".check-output"],
  ["task-prompt", (run) => `/runs/${run}/tasks/stock-hold/prompt`, ".prompt"],
  ["task-history", (run) => `/runs/${run}/tasks/stock-hold/history`, ".history li"],
  ["review", (run) => `/runs/${run}/review/stock-hold`, ".diff-line"],
  ["projects", () => "/projects", "article"],
  ["board", () => "/projects/webshop", ".board-card"],
  ["board-edit", () => "/projects/webshop?task=stock-hold", ".editor"],
  ["expertise", () => "/projects/webshop/expertise", ".expertise tbody tr"],
  ["costs", () => "/costs", ".cost-lines"],
  ["new-run", () => "/new/webshop", ".new-run"],
  ["new-run-file", () => "/new/webshop?from=file", ".workers-chart"],
  ["agents", () => "/agents", ".findings li"],
  ["settings-config", () => "/settings/config", "tbody tr"],
  ["settings-users", () => "/settings/users", "tbody tr"],
  ["settings-tokens", () => "/settings/tokens", "tbody tr"],
  ["settings-audit", () => "/settings/audit", "tbody tr"],
  ["settings-about", () => "/settings/about", "dd"],
  ["settings-appearance", () => "/settings", "main fieldset"],
  ["costs-task", () => "/costs?by=task&range=all", ".cost-lines"],
  ["settings-hooks", () => "/settings/hooks", "tbody tr"],
  ["settings-webhooks", () => "/settings/webhooks", "article, tbody tr"],
  ["inbox-diff", () => "/", "article", diff],
  ["dialog", (run) => `/runs/${run}`, "[role=gridcell]", (page) => page.keyboard.press("X")],
  ["dialog-words", () => "/", "article", (page) => page.getByRole("button", { name: "Send back…" }).click()],
  ["palette", (run) => `/runs/${run}`, "[role=gridcell]", (page) => page.keyboard.press("Control+k")],
  ["keys", (run) => `/runs/${run}`, "[role=gridcell]", (page) => page.keyboard.press("?")],
  ["new-run-plan", () => "/new/webshop", ".new-run", plan],
];

/** Of a server that has nothing yet; without a login there is only the door. */
const EMPTY: [string, string, string][] = [
  ["empty-inbox", "/", ".empty"],
  ["empty-runs", "/runs", ".empty"],
  ["empty-projects", "/projects", "main h1, main h2"],
  ["empty-costs", "/costs", "main h1"],
  ["login", "", "form"],
];

async function diff(page: Page): Promise<void> {
  await page.getByText("The diff so far").first().click();
  await page.getByRole("region", { name: "The diff so far" }).waitFor();
}

async function plan(page: Page): Promise<void> {
  await page.getByLabel("Say what you want").last().fill("Customers can return an order.");
  await page.getByLabel("Planner", { exact: true }).fill("planner");
  await page.getByRole("button", { name: "Plan", exact: true }).click();
  await page.getByLabel("Include mails").waitFor({ timeout: 30_000 });
}

let world: World;
let run = "";

test.beforeAll(async () => {
  world = new World();
  addPlanner(world);
  world.write("tasks.yaml", TASKS);
  mkdirSync(join(world.repository, "src"));
  world.write("src/cart.ts", CART);
  world.git("add", "-A");
  world.git("commit", "-qm", "the cart");
  await world.serve();
  await world.api("POST", "/api/projects", { directory: world.repository });
  await world.api("POST", "/api/users", { name: "ann", password: "a long password", role: "operator" });
  await world.api("POST", "/api/tokens", { name: "ci", role: "operator", project: "webshop" });
  await world.api("POST", "/api/projects/webshop/hooks", { name: "nightly", max_cost: 5 });
  await world.api("POST", "/api/projects/webshop/webhooks", {
    url: "http://127.0.0.1:9/conductor",
    events: ["run_finished"],
  });
  world.start("run", "tasks.yaml", "-p", "4", "--answer-within", "20m", "--max-cost", "40");
  await expect
    .poll(async () => JSON.stringify(await world.api("GET", "/api/inbox")), { timeout: 30_000 })
    .toMatch(/(?=.*"permission")(?=.*"review")(?=.*"failed")/);
  run = (await world.runs())[0]?.run ?? "";
});

test.afterAll(() => world.end());

for (const width of [1440, 390]) {
  for (const [name, path, there, act] of SCREENS) {
    test(`${name} ${width}`, async ({ browser }) => {
      await looked(browser, name, width, async (page) => {
        await world.open(page, path(run));
        await page.locator("main").waitFor();
        if (there) await page.locator(there).first().waitFor();
        await act?.(page);
      });
    });
  }

  test(`what is empty ${width}`, async ({ browser }) => {
    test.setTimeout(150_000);
    const fresh = new World();
    try {
      await fresh.serve();
      for (const [name, path, there] of EMPTY) {
        await looked(browser, name, width, async (page) => {
          if (path) await fresh.open(page, path);
          else await page.goto(fresh.url);
          await page.locator(there).first().waitFor();
        });
      }
    } finally {
      await fresh.end();
    }
  });
}

/** Seen in both schemes, by axe and by those who open the pictures; the browser has nothing to complain of. */
async function looked(browser: Browser, name: string, width: number, arrive: Doing): Promise<void> {
  const context = await browser.newContext({
    viewport: { width, height: width > 1000 ? 1000 : 844 },
    // What is on its way from one colour to another is neither scheme.
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("console", (message) => {
    // That there is no diff, no conversation or no login is an answer: the browser notes it all the same.
    const answered = /\/(diff|conversation|conflict|me)(\?|$)/.test(message.location().url);
    if (message.type() === "error" && !answered) errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await arrive(page);
  await page.waitForLoadState("networkidle");
  // The system's scheme may change while the page is open: it follows.
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.screenshot({ path: `../target/page-screens/${name}-${width}-${scheme}.png` });
    expect(await violations(page), `${name}, ${scheme}`).toEqual([]);
  }
  expect(errors).toEqual([]);
  await context.close();
}

async function violations(page: Page): Promise<string[]> {
  const found = await new AxeBuilder({ page })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"])
    .analyze();
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(" | ")}`);
}
