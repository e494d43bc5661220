// A Next.js application, built by Turbopack or by webpack: a page that the server renders, a
// component in the browser, and a route that uses entries for Node.js.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { Project } from "../../packages/batchwise/test/tools/project.ts";
import { home } from "./recipes.ts";

const layout = `export default function Layout({ children }) { return <html><body>{children}</body></html>; }`;

const button = `"use client";
  import { batch } from "batchwise";
  const double = batch((items) => items.map((item) => item * 2));
  export function Button() { return <button onClick={async () => alert(await double(21))}>double</button>; }
`;

const page = `import { batch } from "batchwise";
  import { Button } from "./button";
  export default async function Page() {
    const find = batch(async (ids) => ids.map((id) => "user " + id));
    const users = await Promise.all([1, 2, 3].map((id) => find(id)));
    return <main>{users.join(", ") + " in " + find.stats().batches + " batch"}<Button /></main>;
  }
`;

const route = `import { BatchwiseError, createBatcher } from "batchwise";
  import { DispatchError } from "batchwise/dispatch";
  import { availableCores } from "batchwise/onnx";
  import { threadHandler } from "batchwise/threads";
  export const dynamic = "force-dynamic";
  const batcher = createBatcher((items) => items.map((item) => item * 2));
  export async function GET() {
    const isOurs = new DispatchError("NOT_FOUND", "none") instanceof BatchwiseError;
    const loaded = [availableCores, threadHandler].every((value) => typeof value === "function");
    return Response.json({ doubled: await batcher.submit(21), isOurs, loaded });
  }
`;

const environment = { NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };

/** Runs the built application until the end of the test; returns its address. */
async function start(folder: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const args = [`${home}node_modules/next/dist/bin/next`, "start", "--port", "0", "--hostname", "127.0.0.1"];
  const env = { ...process.env, ...environment, ...more };
  const server = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(async () => {
    server.kill("SIGKILL");
    if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
  });
  let output = "";
  for await (const text of server.stdout) {
    output += text;
    const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
    if (origin !== undefined && output.includes("Ready")) return origin;
  }
  throw new Error(output);
}

/** Builds the application, checks the rendered page, and calls the route. */
export async function tryNext(bundler: "--turbopack" | "--webpack"): Promise<void> {
  const files = {
    "package.json": {},
    "app/layout.js": layout,
    "app/button.js": button,
    "app/page.js": page,
    "app/api/double/route.js": route,
  };
  const project = new Project("next", files, home);
  const { status, output } = project.run("next/dist/bin/next", ["build", bundler], environment);
  expect(status, output).toBe(0);
  const html = readFileSync(`${project.folder}.next/server/app/index.html`, "utf8");
  expect(html).toContain("user 1, user 2, user 3 in 1 batch");
  const response = await fetch(`${await start(project.folder)}/api/double`);
  expect(await response.json()).toEqual({ doubled: 42, isOurs: true, loaded: true });
}

const dispatcherModule = `import { createDispatcher } from "batchwise/dispatch";
  import { openaiAccount } from "batchwise/dispatch/openai";
  import { sqliteStore } from "batchwise/dispatch/sqlite";
  import OpenAI from "openai";
  const client = new OpenAI({ apiKey: "key", baseURL: process.env.PROVIDER_URL });
  export const dispatcher = createDispatcher({
    store: sqliteStore({ path: process.env.STORE_PATH ?? "none.db" }),
    accounts: [openaiAccount({ client, pollMs: 50 })],
    thresholds: { maxAgeMs: 0 },
  });
`;

/** An application of the recipes of docs/without-a-process.md, built as a user builds it. */
export interface DueApplication {
  /** Where its routes and its store are. */
  readonly origin: string;
  readonly storePath: string;
}

/**
 * Builds the two recipes for Next.js, word for word, as routes of an application, and starts it.
 * Between them is the page's `dispatcher.ts`, with a store in a file and the fake as its provider.
 */
export async function startDueRoutes(
  recipes: Readonly<Record<"cron" | "batches", string>>,
  env: Readonly<Record<"CRON_SECRET" | "WEBHOOK_SECRET" | "PROVIDER_URL", string>>,
): Promise<DueApplication> {
  const files = {
    "package.json": {},
    "next.config.js": "module.exports = { typescript: { ignoreBuildErrors: true } };",
    "app/layout.js": layout,
    "app/page.js": "export default function Page() { return <main>due</main>; }",
    "app/api/dispatcher.ts": dispatcherModule,
    "app/api/cron/route.ts": recipes.cron,
    "app/api/batches/route.ts": recipes.batches,
  };
  const project = new Project("next-due", files, home);
  const { status, output } = project.run("next/dist/bin/next", ["build", "--turbopack"], environment);
  expect(status, output).toBe(0);
  const storePath = `${project.folder}requests.db`;
  return { origin: await start(project.folder, { ...env, STORE_PATH: storePath }), storePath };
}
