// The real Claude Code, with a stand-in for its model: neither an account nor a network is needed. It is fetched by the
// tests of the program, which run before these.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import type { World } from "./world";

const target = resolve("../target");
const cache = process.env.CONDUCTOR_AGENTS_CACHE ?? join(target, "agents");
const standIn = join(dirname(resolve(process.env.CONDUCTOR_PROGRAM ?? join(target, "debug/conductor"))), "stand-in");

/** Where its program is. */
function bin(): string | null {
  const found = existsSync(cache)
    ? readdirSync(cache).find((name) => name.startsWith("anthropic-ai-claude-code@"))
    : null;
  const folder = found ? join(cache, found, "node_modules/.bin") : null;
  return folder && existsSync(join(folder, "claude")) ? folder : null;
}

/** Why it cannot be had; nothing where it can. Where it has to be there, that is a failure. */
export function missing(): string | null {
  const why = !bin()
    ? `Claude Code is not in ${cache}`
    : existsSync(standIn)
      ? null
      : `${standIn} is not built (cargo build -p conductor-agents-standin)`;
  if (why && process.env.CONDUCTOR_AGENTS_REQUIRED) throw new Error(why);
  return why;
}

/** Serves a script as a model, and has `claude` ask it in this world. */
export class StandIn {
  private constructor(
    private readonly child: ChildProcess,
    private readonly url: string,
  ) {}

  static async start(world: World, steps: unknown[]): Promise<StandIn> {
    const file = join(world.folder, "script.json");
    writeFileSync(file, JSON.stringify(steps));
    const child = spawn(standIn, ["--script", `job=${file}`, "--until-eof"], { stdio: ["pipe", "pipe", "inherit"] });
    const url = await new Promise<string>((found, failed) => {
      let said = "";
      child.stdout.on("data", (text) => {
        said += text;
        const line = /^(http:\S+)\n/.exec(said)?.[1];
        if (line) found(line);
      });
      child.on("exit", (code) => failed(new Error(`the stand-in ended with ${code}: ${said}`)));
    });
    const scratch = join(world.home, "tmp");
    mkdirSync(scratch, { recursive: true });
    Object.assign(world.more, {
      PATH: [bin(), process.env.PATH].join(delimiter),
      TMPDIR: scratch,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "sk-ant-stand-in",
      HTTP_PROXY: "http://127.0.0.1:9",
      HTTPS_PROXY: "http://127.0.0.1:9",
      NO_PROXY: "127.0.0.1,localhost",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    });
    return new StandIn(child, url);
  }

  /** All that it was asked, with what was said. */
  async asked(): Promise<string> {
    return (await fetch(new URL("/log/job?bodies", this.url))).text();
  }

  end(): void {
    this.child.stdin?.end();
  }
}
