// Provider events, signed by another implementation of Standard Webhooks: events that OpenAI's
// client accepts are accepted.

import { createHmac, randomBytes } from "node:crypto";
import { GoogleGenAI } from "@google/genai";
import { createDispatcher, memoryStore, providerWebhook } from "batchwise/dispatch";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test, vi } from "vitest";
import { virtualClock } from "../../../../src/testing/index.ts";
import { drive } from "../../support/drive.ts";
import { seeded } from "../../support/world.ts";

const HOUR = 3_600_000;
const secrets = [`whsec_${randomBytes(24).toString("base64")}`, "a secret in plain text"] as const;

/** Two batches that have ended at the provider, an hour before their next poll. */
async function rig() {
  const time = virtualClock(Date.now());
  const fake = fakeProvider({ clock: time, plan: { validateMs: 0, runMs: HOUR / 2, finalizeMs: 0 } });
  const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const google = new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: "http://fake.test", fetch: fake.fetch } });
  const accounts = [
    openaiAccount({ client, models: ["m"], pollMs: HOUR }),
    geminiAccount({ client: google, models: ["g"], pollMs: HOUR }),
  ];
  const store = memoryStore();
  const dispatcher = createDispatcher({ store, accounts, clock: time, random: seeded(1), onError: () => {} });
  onTestFinished(() => dispatcher.stop());
  await dispatcher.start();
  const messages = [{ role: "user", content: "Hi." }];
  await dispatcher.enqueueMany(["m", "g"].map((model) => ({ id: model, body: { model, messages } })));
  dispatcher.flush();
  const ids = async () => {
    const batches = await dispatcher.batches({ states: ["submitted", "running"] });
    return new Map(batches.map(({ model, providerBatchId }) => [model, providerBatchId ?? ""]));
  };
  await drive(time, fake, async () => (await ids()).size === 2);
  const batches = await ids();
  const isEnded = async (id: string): Promise<boolean> =>
    (await dispatcher.requests({ ids: [id], statuses: ["succeeded"] })).requests.length === 1;
  return { time, fake, store, dispatcher, batches, isEnded, hook: providerWebhook(dispatcher, { secrets }) };
}

interface Sent {
  readonly body: string;
  readonly secret?: string;
  readonly id?: string;
  /** In seconds since 1970. */
  readonly at: number;
}

function headersOf({ body, secret = secrets[0], id = "evt_1", at }: Sent): Record<string, string> {
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
  const mac = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": String(at), "webhook-signature": `v1,AAAA v1,${mac}` };
}

const send = (sent: Sent, headers: Record<string, string> = headersOf(sent)): Request =>
  new Request("http://hook.test/batches", { method: "POST", body: sent.body, headers });

const event = (id: string | undefined, type = "batch.completed"): string => JSON.stringify({ type, data: { id } });

test.each(["m", "g"])("an event that names the batch of %s has it looked at at once", async (model) => {
  const { time, fake, hook, batches, isEnded } = await rig();
  await time.advance(HOUR / 2 + 1_000);
  const body = event(batches.get(model)?.replace("batches/", ""));
  const sent = { body, at: Math.floor(time.now() / 1_000), secret: secrets[1] };
  expect((await hook(send(sent))).status).toBe(204);
  const before = time.now();
  await drive(time, fake, () => isEnded(model));
  expect(time.now() - before).toBeLessThan(60_000);
  expect(await isEnded(model === "m" ? "g" : "m")).toBe(false);
});

test("a delivery that OpenAI's client accepts as signed is accepted here", async () => {
  const { time, hook, batches } = await rig();
  const sent = { body: event(batches.get("m")), at: Math.floor(time.now() / 1_000) };
  const client = new OpenAI({ apiKey: "k" });
  await client.webhooks.unwrap(sent.body, headersOf(sent), secrets[0]);
  expect((await hook(send(sent))).status).toBe(204);
});

test("events that are wrong, old, unsigned, oversized or not POST have the status for it and touch nothing", async () => {
  const { time, store, hook, batches } = await rig();
  const touched = vi.spyOn(store, "batches");
  const at = Math.floor(time.now() / 1_000);
  const body = event(batches.get("m"));
  const right = { body, at };
  const statuses = await Promise.all(
    [
      send(right, { ...headersOf(right), "webhook-signature": "v1,AAAA" }),
      send(right, headersOf({ ...right, body: `${body} ` })),
      send(right, headersOf({ ...right, secret: "another secret, plain" })),
      send({ body, at: at - 301 }),
      send({ body, at: at + 301 }),
      send(right, {}),
      send(right, { ...headersOf(right), "webhook-timestamp": "soon" }),
      send({ body: body + " ".repeat(65_536), at }),
      new Request("http://hook.test/batches"),
    ].map(async (request) => (await hook(request)).status),
  );
  expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 401, 413, 405]);
  const others = [event("batch_of_others", "response.completed"), event(undefined), "no JSON", "null"];
  for (const [index, other] of others.entries()) {
    expect((await hook(send({ body: other, at, id: `evt_${index}` }))).status).toBe(204);
  }
  expect(touched).not.toHaveBeenCalled();
});

test("an event of another's batch, or a repeated one, changes nothing; one that met no store is taken again", async () => {
  const { time, store, hook, batches } = await rig();
  const at = Math.floor(time.now() / 1_000);
  const touched = vi.spyOn(store, "batches");
  expect((await hook(send({ body: event("batch_of_others"), at }))).status).toBe(204);
  expect(touched).toHaveBeenCalledTimes(1);
  touched.mockClear();
  expect((await hook(send({ body: event("batch_of_others"), at }))).status).toBe(204);
  expect(touched).not.toHaveBeenCalled();
  touched.mockRejectedValueOnce(new Error("no store"));
  const ours = { body: event(batches.get("m")), at, id: "evt_2" };
  expect((await hook(send(ours))).status).toBe(503);
  expect((await hook(send(ours))).status).toBe(204);
});

test("secrets that cannot be right are refused without being quoted", async () => {
  const { dispatcher } = await rig();
  const secret = "short";
  for (const wrong of [secret, "", [], [secret], undefined, "whsec_<<<<<<<<<<<<", "whsec_c2hvcnQ="]) {
    expect(() => providerWebhook(dispatcher, { secrets: wrong as never })).toThrow(
      /^Expected `secrets` to be one(?!.*(short\b|c2hv))/,
    );
  }
});
