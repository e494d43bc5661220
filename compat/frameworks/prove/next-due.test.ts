// The recipes for Next.js of docs/without-a-process.md in a built application: cron drives a job to
// its end, and an event of the provider brings results in. Their sibling in
// test/without-a-process.test.ts calls the handlers without a build.

import { createHmac } from "node:crypto";
import { createDispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { textOf } from "../../../packages/batchwise/test/house/repository.ts";
import { startDueRoutes } from "../next-application.ts";

const page = textOf("docs/without-a-process.md");
const recipeOf = (name: string): string => {
  const [, code] = new RegExp(`^\`\`\`mts\\n(// next/${name}\\.ts\\n[\\s\\S]*?)^\`\`\`$`, "m").exec(page) ?? [];
  if (code === undefined) throw new Error(`The page has no recipe ${name}.`);
  return code;
};
const SECRET = "a secret in plain text";
const ask = (id: string) => ({ id, body: { model: "gpt-5-mini", messages: [{ role: "user", content: id }] } });

function event(id: string): RequestInit {
  const body = JSON.stringify({ type: "batch.completed", data: { id } });
  const at = String(Math.floor(Date.now() / 1_000));
  const signature = `v1,${createHmac("sha256", SECRET).update(`evt.${at}.${body}`).digest("base64")}`;
  const headers = { "webhook-id": "evt", "webhook-timestamp": at, "webhook-signature": signature };
  return { method: "POST", body, headers };
}

test("a built Next.js application ends a job by cron, and takes the events of its provider", async () => {
  const fake = fakeProvider({ plan: { validateMs: 0, runMs: 0, finalizeMs: 0 } });
  const server = await fake.listen();
  onTestFinished(() => server.close());
  const PROVIDER_URL = `${server.url}/v1`;
  const recipes = { cron: recipeOf("cron"), batches: recipeOf("batches") };
  const env = { CRON_SECRET: "of cron", WEBHOOK_SECRET: SECRET, PROVIDER_URL };
  const { origin, storePath } = await startDueRoutes(recipes, env);
  const accounts = [openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: PROVIDER_URL }) })];
  const dispatcher = createDispatcher({ store: sqliteStore({ path: storePath }), accounts });
  onTestFinished(() => dispatcher.stop());
  const cron = (secret: string) => fetch(`${origin}/api/cron`, { headers: { authorization: `Bearer ${secret}` } });

  await dispatcher.enqueueMany([ask("a"), ask("b")]);
  expect((await cron("a guess")).status).toBe(401);
  for (let open = 2; open > 0; ) ({ open } = (await (await cron("of cron")).json()) as { open: number });
  expect((await dispatcher.stats()).outcomes.succeeded).toBe(2);

  fake.planNext({ runMs: 1_000 });
  await dispatcher.enqueue(ask("c"));
  await cron("of cron");
  const [batch] = await dispatcher.batches();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const unsigned = await fetch(`${origin}/api/batches`, { method: "POST", body: "{}" });
  expect(unsigned.status).toBe(401);
  const sent = await fetch(`${origin}/api/batches`, event(batch?.providerBatchId ?? ""));
  expect(sent.status).toBe(204);
  expect((await dispatcher.stats()).outcomes.succeeded).toBe(3);
  expect([...fake.runs().values()]).toEqual([1, 1, 1]);
});
