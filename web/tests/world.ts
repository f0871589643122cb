// A machine of its own for a test: a home, a repository, agents that are small scripts, and the real server.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, type Page } from "@playwright/test";

const program = resolve(process.env.CONDUCTOR_PROGRAM ?? "../target/debug/conductor");

/** Agents by name: each reads its task and speaks the protocol of `docs/agents.md`. */
export const AGENTS: Record<string, string> = {
  writer: `
read -r task
echo "by $CONDUCTOR_TASK" > "$CONDUCTOR_TASK.txt"
case "$task" in *"sends it back"*) echo mended > "$CONDUCTOR_TASK.mended" ;; esac
echo '{"type":"text","text":"I wrote the file."}'
echo '{"type":"result","ok":true,"text":"I wrote the file."}'
`,
  pricey: `
read -r task
echo "by $CONDUCTOR_TASK" > "$CONDUCTOR_TASK.txt"
echo '{"type":"usage","model":"claude-opus-5-5","input":40000,"output":9000,"turns":4}'
echo '{"type":"result","ok":true,"text":"I wrote the file."}'
`,
  asker: `
read -r task
case "$task" in
  *"It is allowed"*) echo yes > answer.txt ;;
  *"not allowed"*) echo no > answer.txt ;;
  *)
    echo half > half.txt
    echo '{"type":"question","id":1,"tool":"Bash","input":{"command":"terraform apply -auto-approve"}}'
    read -r refused
    read -r interrupt
    exit 1 ;;
esac
echo '{"type":"result","ok":true,"text":"done"}'
`,
  coder: `
read -r task
mkdir -p src
if [ -f src/cart.ts ]; then sed -i 's/quantity: number/quantity: Quantity/; s/return total;/return round(total);/' src/cart.ts; fi
printf 'import { round } from "./money";\\n\\nexport const HOLD_FOR = 15 * 60; // seconds\\n\\nexport function take(sku: string) {\\n  return { sku, until: Date.now() + HOLD_FOR * 1000 };\\n}\\n' > "src/$CONDUCTOR_TASK.ts"
case "$task" in *"sends it back"*) echo mended > "$CONDUCTOR_TASK.mended"; printf '%s\\n' "$task" > "$SIGNS/back-$CONDUCTOR_TASK" ;; esac
printf '%s\\n' '{"type":"text","text":"The hold has to end by itself. I keep \`until\` with it and look at it when the line is read:\\n\\n\`\`\`ts\\nreturn { sku, until };\\n\`\`\`"}'
printf '%s\\n' '{"type":"tool","name":"Read","text":"src/cart.ts"}'
printf '%s\\n' '{"type":"tool","name":"Edit","text":"src/cart.ts"}'
printf '%s\\n' '{"type":"tool","name":"Bash","text":"pnpm test --filter cart"}'
printf '%s\\n' '{"type":"error","text":"Error: expected 2 to be 3\\n  at cart.test.ts:22:11"}'
printf '%s\\n' '{"type":"usage","model":"sonnet","input":41200,"output":3100,"turns":4,"cost":0.21}'
printf '%s\\n' '{"type":"result","ok":true,"text":"Stock is held for **15 minutes**."}'
`,
  sleeper: `
read -r task
echo '{"type":"text","text":"I look around first."}'
while [ ! -f "$SIGNS/go-$CONDUCTOR_TASK" ] && [ ! -f "$SIGNS/go" ]; do sleep 0.05; done
echo "by $CONDUCTOR_TASK" > "$CONDUCTOR_TASK.txt"
echo '{"type":"result","ok":true,"text":"done"}'
`,
};

export class World {
  readonly folder = mkdtempSync(join(tmpdir(), "conductor-page-"));
  readonly home = join(this.folder, "home");
  readonly signs = join(this.folder, "signs");
  readonly repository: string;
  private server: ChildProcess | null = null;
  private children: ChildProcess[] = [];
  /** What is set for its programs beside what all have. */
  readonly more: NodeJS.ProcessEnv = {};
  url = "";
  port = 0;

  constructor(readonly name = "webshop") {
    this.repository = join(this.folder, name);
    for (const folder of [this.home, this.signs, this.repository, join(this.folder, "bin")])
      mkdirSync(folder, { recursive: true });
    for (const [name, script] of Object.entries(AGENTS)) this.addAgent(name, script);
    this.git("init", "-q", "-b", "main");
    this.write("README.md", "# Webshop\n");
    this.git("add", "-A");
    this.git("commit", "-qm", "first");
  }

  get environment(): NodeJS.ProcessEnv {
    return {
      ...this.more,
      PATH: `${join(this.folder, "bin")}:${this.more.PATH ?? process.env.PATH}`,
      HOME: this.home,
      SIGNS: this.signs,
      LANG: "C.UTF-8",
      // Scripted agents wait for signs beside the repository; what confines agents has tests of its own.
      CONDUCTOR_SANDBOX: "off",
      GIT_AUTHOR_NAME: "Test",
      GIT_AUTHOR_EMAIL: "test@example.com",
      GIT_COMMITTER_NAME: "Test",
      GIT_COMMITTER_EMAIL: "test@example.com",
    };
  }

  addAgent(name: string, script: string): void {
    const path = join(this.folder, "bin", `conductor-agent-${name}`);
    // Agents get only the variables that they need: where the signs are is written into them.
    writeFileSync(path, `#!/bin/sh\n${script.replaceAll("$SIGNS", this.signs)}`);
    chmodSync(path, 0o755);
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.repository, name), text);
  }

  read(name: string): string {
    return readFileSync(join(this.repository, name), "utf8");
  }

  git(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.repository, env: this.environment, encoding: "utf8" });
  }

  /** A command that is waited for; its exit code does not matter to those who look at a run. */
  conductor(...args: string[]): string {
    try {
      return execFileSync(program, args, {
        cwd: this.repository,
        env: this.environment,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
      });
    } catch (error) {
      const { stdout, stderr } = error as { stdout?: string; stderr?: string };
      return `${stdout ?? ""}${stderr ?? ""}`;
    }
  }

  /** A command that goes on. */
  start(...args: string[]): ChildProcess {
    const child = spawn(program, args, { cwd: this.repository, env: this.environment, stdio: "ignore" });
    this.children.push(child);
    return child;
  }

  sign(name: string): void {
    writeFileSync(join(this.signs, name), "");
  }

  async serve(): Promise<void> {
    const args = ["serve", "--json", "--bind", `127.0.0.1:${this.port}`];
    const server = spawn(program, args, {
      cwd: this.repository,
      env: this.environment,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.server = server;
    this.url = await new Promise<string>((found, failed) => {
      let said = "";
      server.stdout.on("data", (text) => {
        said += text;
        const url = /"url":\s*"([^"]+)"/.exec(said)?.[1];
        if (url) found(url);
      });
      server.on("exit", (code) => failed(new Error(`the server ended with ${code}: ${said}`)));
    });
    this.port = Number(new URL(this.url).port);
  }

  kill(): Promise<void> {
    const server = this.server;
    this.server = null;
    if (!server) return Promise.resolve();
    if (server.exitCode !== null || server.signalCode !== null) {
      const how = server.signalCode ?? `exit code ${server.exitCode}`;
      return Promise.reject(new Error(`the server had ended before, with ${how}`));
    }
    return new Promise((gone) => {
      server.on("exit", () => gone());
      server.kill("SIGKILL");
    });
  }

  get token(): string {
    return readFileSync(join(this.home, ".conductor", "server", "owner-token"), "utf8").trim();
  }

  async api(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      // A server that does not answer is found where it happens, not when the test's time is over.
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : {};
  }

  /** Opens the page as its owner does. */
  async open(page: Page, path = "/"): Promise<void> {
    const { url } = (await this.api("POST", "/api/login/codes", {})) as { url: string };
    await page.goto(url);
    await page.waitForURL((now) => now.pathname === "/");
    if (path !== "/") await page.goto(`${this.url}${path}`);
    // Keys count from here on.
    await page.locator("main").waitFor();
  }

  /** A server, a project, and a run of these tasks; its name. */
  async begin(tasks: string, ...options: string[]): Promise<string> {
    this.write("tasks.yaml", tasks);
    await this.serve();
    await this.api("POST", "/api/projects", { directory: this.repository });
    this.start("run", "tasks.yaml", ...options);
    await expect.poll(async () => (await this.runs()).length, { timeout: 20_000 }).toBe(1);
    return (await this.runs())[0]?.run ?? "";
  }

  async runs(): Promise<{ run: string; state: string; live: boolean }[]> {
    return ((await this.api("GET", "/api/runs")) as { runs: { run: string; state: string; live: boolean }[] }).runs;
  }

  async end(): Promise<void> {
    const runs = () => this.runs().catch((error) => (error.name === "TimeoutError" ? Promise.reject(error) : []));
    const live = async () => (this.server ? await runs() : []).filter((run) => run.live);
    for (const run of await live()) await this.api("POST", `/api/runs/${run.run}/stop`, {}).catch(() => {});
    // Those that the server has started are no children of ours, and write until they end.
    for (let looks = 0; looks < 200 && (await live()).length > 0; looks++) {
      await new Promise((next) => setTimeout(next, 50));
    }
    await Promise.all(this.children.map((child) => ended(child)));
    await this.kill();
    await this.remove();
  }

  /** What was thrown away is deleted by a process of its own, beside us. */
  private async remove(): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        rmSync(this.folder, { recursive: true, force: true });
        return;
      } catch (error) {
        if (tries === 50) throw error;
        await new Promise((next) => setTimeout(next, 100));
      }
    }
  }
}

/** Asked to end, and made to after a while. One that a signal has ended has no exit code. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((next) => child.once("exit", next));
  child.kill("SIGTERM");
  const patience = setTimeout(() => child.kill("SIGKILL"), 20_000);
  await gone;
  clearTimeout(patience);
}
