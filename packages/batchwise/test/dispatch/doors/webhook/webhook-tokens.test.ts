// Events of Gemini's single jobs, signed with RS256 tokens whose keys are at an address, and events
// that also run what is due.

import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { GoogleGenAI } from "@google/genai";
import { createDispatcher, memoryStore, type ProviderWebhookOptions, providerWebhook } from "batchwise/dispatch";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { fakeProvider } from "batchwise/dispatch/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { virtualClock } from "../../../../src/testing/index.ts";
import { drive } from "../../support/drive.ts";
import { seeded } from "../../support/world.ts";

const HOUR = 3_600_000;
const secret = "a secret in plain text";
const google = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const stranger = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const publicKey = (kid: string, pair = google) => ({ ...pair.publicKey.export({ format: "jwk" }), kid, alg: "RS256" });
const keys = [publicKey("k1")] as { kty: string; kid: string }[];

/** A batch that has ended at the provider; nothing has looked. */
async function rig(options: Partial<ProviderWebhookOptions>) {
  const time = virtualClock(Date.now());
  const fake = fakeProvider({ clock: time, plan: { validateMs: 0, runMs: HOUR / 2, finalizeMs: 0 } });
  const client = new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: "http://fake.test", fetch: fake.fetch } });
  const store = memoryStore();
  const dispatcher = createDispatcher({
    ...{ store, clock: time, random: seeded(1), onError: () => {}, thresholds: { maxAgeMs: 0 } },
    accounts: [geminiAccount({ client, pollMs: HOUR })],
  });
  onTestFinished(() => dispatcher.stop());
  await dispatcher.enqueue({ id: "g", body: { model: "g", messages: [{ role: "user", content: "Hi." }] } });
  await settled(time, fake, dispatcher.runDue({ maxMs: 10_000 }));
  const [batch] = await dispatcher.batches();
  await time.advance(HOUR / 2 + 1_000);
  const hook = providerWebhook(dispatcher, { audience: "me", ...options });
  const nextAt = async () => (await store.batches({ limit: 1 }))[0]?.nextAt ?? 0;
  return { time, fake, store, dispatcher, hook, nextAt, id: batch?.providerBatchId ?? "" };
}

async function settled<Value>(time: ReturnType<typeof virtualClock>, fake: { open: number }, work: Promise<Value>) {
  let isOver = false;
  const ended = work.finally(() => {
    isOver = true;
  });
  ended.catch(() => {});
  await drive(time, fake, async () => isOver);
  return ended;
}

type Claims = Record<string, unknown>;
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

function token(claims: Claims, { alg = "RS256", kid = "k1", pair = google } = {}): string {
  const head = `${part({ alg, kid, typ: "JWT" })}.${part(claims)}`;
  const signature =
    alg === "HS256"
      ? createHmac("sha256", google.publicKey.export({ type: "spki", format: "pem" }))
          .update(head)
          .digest()
      : sign("RSA-SHA256", Buffer.from(head), pair.privateKey);
  return `${head}.${alg === "none" ? "AAAA" : signature.toString("base64url")}`;
}

function send(id: string, signature: string, headers: Record<string, string> = {}, event = "evt_1"): Request {
  const body = JSON.stringify({ type: "batch.succeeded", version: "v1", data: { id } });
  const all = { "webhook-id": event, "webhook-signature": signature, ...headers };
  return new Request("http://hook.test/batches", { method: "POST", body, headers: all });
}

const claimsAt = (now: number): Claims => ({
  aud: "me",
  iat: Math.floor(now / 1_000),
  exp: Math.floor(now / 1_000) + 600,
});

test.each([
  ["with the folder of Google's names", (id: string) => id],
  ["bare", (id: string) => id.replace("batches/", "")],
])("a token of the key set is taken, for the batch named %s", async (_form, named) => {
  const { time, hook, id, nextAt } = await rig({ keySet: { keys } });
  expect(id).toMatch(/^batches\//);
  expect(await nextAt()).toBeGreaterThan(time.now());
  const { status } = await hook(send(named(id), token(claimsAt(time.now()))));
  expect(status).toBe(204);
  expect(await nextAt()).toBeLessThanOrEqual(time.now());
});

test("tokens that are wrong, old, of another key, audience or algorithm are 401 and touch nothing", async () => {
  const { time, store, hook, id } = await rig({ keySet: { keys } });
  const touched = vi.spyOn(store, "batches");
  const now = Math.floor(time.now() / 1_000);
  const right = claimsAt(time.now());
  const [head, body, signature] = token(right).split(".") as [string, string, string];
  const wrong = [
    token(right, { pair: stranger }),
    token(right, { kid: "k2" }),
    token(right, { alg: "HS256" }),
    token(right, { alg: "none" }),
    token({ ...right, aud: "you" }),
    token({ ...right, aud: ["you", 3] }),
    token({ iat: right.iat, exp: right.exp }),
    token({ ...right, exp: now - 1 }),
    token({ aud: "me", iat: now - 301 }),
    token({ ...right, iat: now + 301 }),
    token({ ...right, nbf: now + 301 }),
    token({ ...right, exp: "later" }),
    token({ aud: "me" }),
    `${head}.${part({ ...right, sub: "else" })}.${signature}`,
    `${head}.${body}.AAAA`,
    `${part({ alg: "RS256" })}.${body}.${signature}`,
    `e30.${body}.${signature}`,
    "a.b.c",
  ];
  for (const one of wrong) expect((await hook(send(id, one))).status, one).toBe(401);
  expect((await hook(send(id, token(right), { "webhook-timestamp": String(now - 301) }))).status).toBe(401);
  expect(touched).not.toHaveBeenCalled();
  expect((await hook(send(id, token(right), { "webhook-timestamp": String(now) }))).status).toBe(204);
});

test("without a key set a token is 401; with one, secrets count as before", async () => {
  const { time, hook, id } = await rig({ secrets: secret });
  expect((await hook(send(id, token(claimsAt(time.now()))))).status).toBe(401);
  const both = await rig({ secrets: secret, keySet: { keys } });
  const at = Math.floor(both.time.now() / 1_000);
  const body = JSON.stringify({ type: "batch.succeeded", version: "v1", data: { id: both.id } });
  const mac = createHmac("sha256", secret).update(`evt_1.${at}.${body}`).digest("base64");
  expect((await both.hook(send(both.id, `v1,${mac}`, { "webhook-timestamp": String(at) }))).status).toBe(204);
});

/** A key set at an address of this machine. */
async function address() {
  const state = { calls: 0, isUp: true, keys: [] as unknown[] };
  const server = createServer((_request, response) => {
    state.calls += 1;
    response.statusCode = state.isUp ? 200 : 500;
    response.end(JSON.stringify({ keys: state.keys }));
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json` };
}

test("keys at an address are kept, fetched again when one is new, and 503 says that they cannot be had", async () => {
  const { state, url } = await address();
  const { time, hook, id } = await rig({ keySet: new URL(url) });
  let events = 0;
  const status = async (kid = "k1") => {
    events += 1;
    return (await hook(send(id, token(claimsAt(time.now()), { kid }), {}, `evt_${events}`))).status;
  };
  state.isUp = false;
  expect(await status()).toBe(503);
  // Made-up key ids cause no calls right after a failure either.
  for (let count = 0; count < 5; count += 1) expect(await status(`made up, down ${count}`)).toBe(503);
  expect(state.calls).toBe(1);
  await time.advance(5_000);
  state.isUp = true;
  state.keys = keys;
  expect(await status()).toBe(204);
  expect(await status()).toBe(204);
  expect(state.calls).toBe(2);
  // Made-up key ids cause a call a minute at most.
  for (let count = 0; count < 5; count += 1) expect(await status(`made up ${count}`)).toBe(401);
  expect(state.calls).toBe(2);
  await time.advance(61_000);
  state.keys = [...keys, publicKey("k2")];
  expect(await Promise.all([status("k2"), status("k2"), status("k1")])).toEqual([204, 204, 204]);
  expect(state.calls).toBe(3);
  // Kept while the address does not answer, also after their hour.
  state.isUp = false;
  await time.advance(2 * HOUR);
  expect(await status()).toBe(204);
  expect(await status("k3")).toBe(503);
});

test("with `runMs` the results are there before the answer", async () => {
  const { time, fake, hook, id, dispatcher } = await rig({ keySet: { keys }, runMs: 5_000 });
  const { status } = await settled(time, fake, hook(send(id, token(claimsAt(time.now())))));
  expect(status).toBe(204);
  expect((await dispatcher.result("g")).status).toBe("succeeded");
});

test("with `runMs`, events of unknown batches run nothing, and loops that run are left to it", async () => {
  const { time, fake, hook, id, dispatcher } = await rig({ keySet: { keys }, runMs: 5_000 });
  const runs = vi.spyOn(dispatcher, "runDue");
  expect((await hook(send("batches/of-others", token(claimsAt(time.now()))))).status).toBe(204);
  expect(runs).not.toHaveBeenCalled();
  await dispatcher.start();
  const { status } = await settled(time, fake, hook(send(id, token(claimsAt(time.now())), {}, "evt_2")));
  expect(status).toBe(204);
});

test.each([
  [{}],
  [{ keySet: "no address" }],
  [{ keySet: { keys: [] } }],
  [{ keySet: { keys: [{ kty: "EC", kid: "a" }] } }],
  [{ keySet: { keys }, audience: "" }],
  [{ keySet: { keys }, audience: [1] }],
  [{ keySet: { keys }, secrets: [] }],
  [{ secrets: secret, runMs: 99 }],
  [{ secrets: secret, jwks: "https://keys.test" }],
])("options %j are refused", (options) => {
  const dispatcher = createDispatcher({
    store: memoryStore(),
    accounts: [geminiAccount({ client: new GoogleGenAI({ apiKey: "k" }) })],
  });
  const make = () => providerWebhook(dispatcher, options as never);
  expect(make).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
});

test("`webhookConfig` and `priority` go with each create of a Gemini account", async () => {
  const bodies: { batch: unknown }[] = [];
  const time = virtualClock(0);
  const fake = fakeProvider({ clock: time });
  const watching: typeof fetch = async (url, init) => {
    if (String(url).includes(":batchGenerateContent"))
      bodies.push(JSON.parse(String(init?.body)) as { batch: unknown });
    return fake.fetch(url as string, init);
  };
  const client = new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: "http://fake.test", fetch: watching } });
  const webhookConfig = { uris: ["https://example.com/batches"], userMetadata: { team: "a" } };
  const account = geminiAccount({ client, webhookConfig, priority: 7 });
  const dispatcher = createDispatcher({
    store: memoryStore(),
    accounts: [account],
    clock: time,
    thresholds: { maxAgeMs: 0 },
  });
  onTestFinished(() => dispatcher.stop());
  await dispatcher.enqueue({ body: { model: "g", messages: [{ role: "user", content: "Hi." }] } });
  await settled(time, fake, dispatcher.runDue({ maxMs: 10_000 }));
  expect(bodies).toMatchObject([{ batch: { webhookConfig, priority: "7" } }]);
  for (const wrong of [{ uris: [] }, { uris: ["nothing"] }, { uris: "https://a.test" }, { url: "https://a.test" }]) {
    const make = () => geminiAccount({ client, webhookConfig: wrong as never });
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  }
  expect(() => geminiAccount({ client, priority: 1.5 })).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
});
