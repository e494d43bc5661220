// Metrics as Prometheus gets them: over HTTP from the server of OpenTelemetry's exporter, of a
// batcher at work and of a dispatcher that sends batches through OpenAI's official client.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { batch } from "batchwise";
import { createDispatcher, memoryStore } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import { instrument, instrumentDispatcher } from "batchwise/otel";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { Samples } from "../../otel/support/telemetry.ts";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A meter, and a scrape of its series. */
async function scraped() {
  const port = await freePort();
  const exporter = new PrometheusExporter({ host: "127.0.0.1", port, preventServerStart: true });
  await exporter.startServer();
  const provider = new MeterProvider({ readers: [exporter] });
  onTestFinished(() => provider.shutdown());
  const scrape = async (): Promise<Samples> => {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(answer.status).toBe(200);
    return new Samples(await answer.text());
  };
  return { meter: provider.getMeter("batchwise"), scrape };
}

test("a batcher's metrics are there for Prometheus to scrape", async () => {
  const { meter, scrape } = await scraped();
  const embed = batch(async (texts: string[]) => texts.map((text) => text.length), { name: "embed", maxBatchSize: 8 });
  instrument(embed, { meter });
  await Promise.all(Array.from({ length: 20 }, (_, index) => embed(`text ${index}`)));
  await embed.close();
  const of = await scrape();
  const labels = { batchwise_batcher_name: "embed", otel_scope_name: "batchwise" };
  expect(of.value("batchwise_items_settled_total", { ...labels, batchwise_item_outcome: "completed" })).toBe(20);
  expect(of.value("batchwise_batch_size_count", labels)).toBe(3);
  expect(of.value("batchwise_batch_size_sum", labels)).toBe(20);
  expect(of.value("batchwise_item_wait_duration_bucket", { ...labels, le: "+Inf" })).toBe(20);
});

test("a dispatcher's metrics follow a batch from enqueue to its price", async () => {
  const { meter, scrape } = await scraped();
  const http = await fakeProvider({ plan: { validateMs: 20, runMs: 50, finalizeMs: 20 } }).listen();
  onTestFinished(() => http.close());
  const client = new OpenAI({ apiKey: "key", baseURL: `${http.url}/v1` });
  const dispatcher = createDispatcher({
    store: memoryStore(),
    accounts: [openaiAccount({ client, pollMs: 50 })],
    thresholds: { maxRequests: 3 },
    prices: { m: { input: 1_000_000, output: 1_000_000 } },
  });
  instrumentDispatcher(dispatcher, { meter });
  await dispatcher.start();
  onTestFinished(() => dispatcher.stop());
  const body = { model: "m", messages: [{ role: "user", content: "hello" }] };
  await dispatcher.enqueueMany([1, 2, 3].map((id) => ({ id: `r${id}`, body, tenant: "acme" })));
  for (const id of ["r1", "r2", "r3"]) expect(await dispatcher.result(id)).toMatchObject({ status: "succeeded" });
  await dispatcher.stop();

  const of = await scrape();
  const value = (name: string, labels = {}) => of.value(`batchwise_dispatch_${name}`, labels);
  const account = { batchwise_account: "openai" };
  expect(value("requests_enqueued_total", { batchwise_result: "stored" })).toBe(3);
  expect(value("batches_sealed_total", account)).toBe(1);
  expect(value("creates_total", { ...account, batchwise_result: "accepted" })).toBe(1);
  expect(value("requests_ended_total", { batchwise_tenant: "acme", batchwise_request_status: "succeeded" })).toBe(3);
  const tokens = (value("tokens_input_total") ?? 0) + (value("tokens_output_total") ?? 0);
  expect(tokens).toBeGreaterThan(0);
  expect(value("price_total", { batchwise_tenant: "acme" })).toBeGreaterThan(0);
  expect(value("batch_duration_count", account)).toBe(1);
});

test("a stopped dispatcher shows nothing of its store", async () => {
  const { meter, scrape } = await scraped();
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fakeProvider().fetch });
  const dispatcher = createDispatcher({ store: memoryStore(), accounts: [openaiAccount({ client })] });
  instrumentDispatcher(dispatcher, { meter });
  await dispatcher.enqueue({ id: "r1", body: { model: "m", messages: [{ role: "user", content: "hello" }] } });
  await dispatcher.start();
  onTestFinished(() => dispatcher.stop());
  const value = async (name: string) => (await scrape()).value(`batchwise_dispatch_${name}`);
  await expect.poll(() => value("lane_requests"), { timeout: 20_000 }).toBe(1);
  expect(await value("lane_age")).toBeGreaterThan(0);
  expect(await value("running")).toBe(1);
  expect(await value("deliveries_waiting")).toBe(0);
  await dispatcher.stop();
  await expect.poll(() => value("running"), { timeout: 20_000 }).toBe(0);
  expect([await value("lane_requests"), await value("lane_age")]).toEqual([0, 0]);
});
