// The example in examples/agents as a user runs it, and killed in the middle at a provider over a
// real socket.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "../../../packages/batchwise/test/dispatch/stores/sqlite/folder.ts";
import { built, root } from "../../../packages/batchwise/test/house/repository.ts";
import { practiceModel } from "../examples/agents/practice-model.ts";

const main = `${root}compat/frameworks/examples/agents/main.ts`;

function run(environment: Readonly<Record<string, string>>): ChildProcess {
  built("dispatch/index.js");
  const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...environment };
  return spawn(process.execPath, ["--no-warnings", main], { env, stdio: ["ignore", "pipe", "inherit"] });
}

async function outputOf(child: ChildProcess): Promise<string> {
  const [output, [code]] = await Promise.all([text(child.stdout as never), once(child, "exit")]);
  expect(code).toBe(0);
  return output;
}

test("two hundred agents of three turns each take about three batches", async () => {
  const output = await outputOf(run({}));
  expect(output).toMatch(/^200 agents: 100 refunds, 100 rejected\n600 calls in [3-5] batches\n$/);
});

test("agents that are killed in their second turn continue, and no turn is paid twice", async () => {
  const folder = makeFolder();
  onTestFinished(() => folder.remove());
  const fake = practiceModel();
  const server = await fake.listen();
  onTestFinished(() => server.close());
  const environment = { PRACTICE_URL: server.url, STORE: `${folder.file()}.db` };
  const first = run(environment);
  while (fake.calls("batches.create") < 2 && first.exitCode === null) await sleep(5);
  first.kill("SIGKILL");
  if (first.exitCode === null && first.signalCode === null) await once(first, "exit");
  expect(await outputOf(run(environment))).toContain("200 agents: 100 refunds, 100 rejected");
  expect(fake.runs().size).toBe(600);
  expect([...fake.runs().values()].filter((runs) => runs !== 1)).toEqual([]);
});
