/**
 * A folder with an input file, a fake provider over HTTP, and the `batchwise` command run in the
 * folder like a user would.
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type FakeOptions, type FakeProvider, fakeProvider, type Listening } from "batchwise/dispatch/testing";
import { afterEachTest } from "../../../../scripts/after-tests.ts";
import { databaseParent } from "../../../batchwise/test/dispatch/stores/sqlite/folder.ts";
import { type Command, startCommandIn } from "./command.ts";
import { temporaryFolder } from "./folders.ts";

/** Options for a provider that answers in seconds, and for a short lease. */
export const QUICK: readonly string[] = [
  ...["--poll-ms", "200", "--request-timeout-ms", "3000", "--reconcile-grace-ms", "2000", "--lease-ms", "4000"],
];
const MOST_MS = 60_000;

const open: Practice[] = [];

afterEachTest(async () => {
  for (const practice of open.splice(0)) await practice.close();
});

export interface Line {
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: object } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export class Practice {
  readonly folder: string;
  readonly fake: FakeProvider;
  readonly url: string;
  readonly #server: Listening;

  private constructor(folder: string, fake: FakeProvider, server: Listening) {
    this.folder = folder;
    this.fake = fake;
    this.#server = server;
    this.url = `${server.url}/v1`;
  }

  static async start(options: FakeOptions = {}): Promise<Practice> {
    const plan = { validateMs: 50, runMs: 100, finalizeMs: 50 };
    const fake = fakeProvider({ plan, ...options });
    const practice = new Practice(await temporaryFolder(databaseParent()), fake, await fake.listen());
    open.push(practice);
    return practice;
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  write(name: string, text: string): void {
    writeFileSync(this.file(name), text);
  }

  /** `count` lines of a batch file, with the ids r0, r1, ... */
  writeLines(name: string, count: number, model: string = "m"): void {
    const lines = Array.from({ length: count }, (_, n) => {
      const body = { model, messages: [{ role: "user", content: `Say ${n}.` }] };
      return JSON.stringify({ custom_id: `r${n}`, method: "POST", url: "/v1/chat/completions", body });
    });
    this.write(name, `${lines.join("\n")}\n`);
  }

  /** The complete lines of a file. */
  lines(name: string): Line[] {
    if (!existsSync(this.file(name))) return [];
    return readFileSync(this.file(name), "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  /** Starts the command with a key, against the fake. */
  start(...args: readonly string[]): Command {
    return this.startWith({ OPENAI_API_KEY: "practice", OPENAI_BASE_URL: this.url }, ...args);
  }

  startWith(env: Readonly<Record<string, string>>, ...args: readonly string[]): Command {
    return startCommandIn({ cwd: this.folder, env }, ...args);
  }

  run(input: string, ...args: readonly string[]): Command {
    return this.start("run", input, ...QUICK, ...args);
  }

  /** Runs the command to its end. */
  async done(...args: readonly string[]): Promise<Ended> {
    return ended(this.start(...args));
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

export interface Ended {
  readonly code: number | NodeJS.Signals;
  readonly output: string;
  readonly stdout: string;
}

export async function ended(command: Command): Promise<Ended> {
  const code = await command.ended;
  return { code, output: command.output(), stdout: command.stdout() };
}

export async function until(happened: () => boolean): Promise<void> {
  for (const end = Date.now() + MOST_MS; Date.now() < end; await sleep(5)) if (happened()) return;
  throw new Error("It did not happen in time.");
}
