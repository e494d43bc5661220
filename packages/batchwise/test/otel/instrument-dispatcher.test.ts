// The series of each event of a dispatcher. test/dispatch/events.test.ts has real dispatchers that
// emit the events; test/integration/otel has one whose metrics are scraped over HTTP.

import { instrumentDispatcher } from "batchwise/otel";
import { describe, expect, test } from "vitest";
import { EVENT_NAMES } from "../../src/dispatch/contract/events.ts";
import { thrownBy } from "../support.ts";
import { BATCH, EVENTS, Teller } from "./support/every-event.ts";
import { metrics, spans } from "./support/telemetry.ts";

const PREFIX = "batchwise_dispatch_";

/** A dispatcher that has emitted each event once, and its samples. */
async function told(options: { readonly tenantLabel?: boolean } = {}) {
  const { meter, samples } = metrics();
  const dispatcher = new Teller();
  const detach = instrumentDispatcher(dispatcher, { meter, tracer: null, ...options });
  dispatcher.tellAll();
  await null;
  return { dispatcher, detach, samples };
}

describe("the metrics of a dispatcher", () => {
  test("listen to every event", async () => {
    const { dispatcher } = await told();
    expect(dispatcher.listened.toSorted()).toEqual(EVENT_NAMES.toSorted());
  });

  test.each([
    ["requests_enqueued_total", { batchwise_result: "stored" }, 5],
    ["requests_enqueued_total", { batchwise_result: "existing" }, 1],
    ["requests_ended_total", { batchwise_tenant: "acme", batchwise_request_status: "succeeded" }, 3],
    ["requests_ended_total", { batchwise_request_status: "failed" }, 1],
    ["batches_sealed_total", { batchwise_account: "openai", batchwise_model: "m" }, 1],
    ["lane_wait_duration_sum", { batchwise_endpoint: "/v1/chat/completions" }, 30],
    ["batch_requests_sum", { batchwise_account: "openai" }, 4],
    ["batch_tokens_sum", { batchwise_account: "openai" }, 60],
    ["batch_duration_sum", { batchwise_account: "openai" }, 90],
    ["uploads_total", { batchwise_result: "accepted" }, 1],
    ["upload_duration_sum", {}, 0.5],
    ["creates_total", { batchwise_account: "openai", batchwise_result: "accepted" }, 1],
    ["create_duration_sum", {}, 0.25],
    ["adoptions_total", { batchwise_account: "openai" }, 1],
    ["duplicates_total", { batchwise_account: "openai" }, 2],
    ["polls_total", { batchwise_result: "seen" }, 1],
    ["results_read_total", {}, 4],
    ["collect_duration_sum", {}, 0.1],
    ["tokens_input_total", { batchwise_tenant: "acme", batchwise_model: "m" }, 60],
    ["tokens_cached_total", { batchwise_tenant: "acme" }, 20],
    ["tokens_output_total", { batchwise_tenant: "acme" }, 40],
    ["tokens_reasoning_total", { batchwise_tenant: "acme" }, 10],
    ["price_total", { batchwise_tenant: "acme" }, 0.25],
    ["leases_lost_total", { batchwise_reason: "taken" }, 1],
    ["quarantines_total", { error_type: "BATCH_GONE" }, 1],
    ["splits_total", { batchwise_reason: "halves", error_type: "invalid_request" }, 1],
    ["pauses_total", { batchwise_account: "openai/m", error_type: "token_limit_exceeded" }, 1],
    ["deliveries_total", { batchwise_sink: "webhook", batchwise_result: "dead" }, 1],
    ["delivery_duration_sum", { batchwise_sink: "webhook" }, 0.02],
    ["files_deleted_total", { batchwise_account: "openai" }, 3],
    ["requests_pruned_total", {}, 9],
    ["clock_steps_total", { batchwise_result: "seen" }, 1],
    ["store_set_backs_total", { error_type: "STORE_SET_BACK" }, 1],
    ["running", {}, 1],
    ["lane_requests", { batchwise_model: "m" }, 3],
    ["lane_tokens", { batchwise_model: "m" }, 45],
    ["lane_age", { batchwise_model: "m" }, 7],
    ["batches_open", { batchwise_batch_state: "running" }, 2],
    ["batch_age", { batchwise_batch_state: "running" }, 90],
    ["account_tokens", { batchwise_account: "openai" }, 60],
    ["account_requests", { batchwise_account: "openai" }, 4],
    ["account_batches", { batchwise_account: "openai" }, 2],
    ["account_paused", { batchwise_account: "openai", batchwise_reason: "provider" }, 0],
    ["account_paused", { batchwise_account: "groq", batchwise_reason: "provider" }, 1],
    ["account_paused", { batchwise_account: "mistral", batchwise_reason: "operator" }, 1],
    ["deliveries_waiting", {}, 11],
  ] as const)("have %s of %o", async (name, labels, value) => {
    const { samples } = await told();
    // An age grows while the test runs: it may be 5 s more.
    expect((await samples()).value(PREFIX + name, labels)).toBeCloseTo(value, name.endsWith("_age") ? -1 : 1);
  });

  test("omit tenants with that option", async () => {
    const { samples } = await told({ tenantLabel: false });
    const of = await samples();
    expect(of.value(`${PREFIX}price_total`)).toBe(0.25);
    expect(of.all.filter(({ labels }) => "batchwise_tenant" in labels)).toEqual([]);
  });

  test("count no price where there is none, and name the failure", async () => {
    const { dispatcher, samples } = await told();
    dispatcher.tell("usage", { ...EVENTS.usage, model: "free", price: null });
    dispatcher.tell("create", { ...EVENTS.create, result: "refused", code: "rate_limited" });
    const of = await samples();
    expect(of.value(`${PREFIX}price_total`, { batchwise_model: "free" })).toBe(undefined);
    expect(of.value(`${PREFIX}creates_total`, { batchwise_result: "refused", error_type: "rate_limited" })).toBe(1);
  });

  test("show 0 for a lane or a state that has become empty", async () => {
    const { dispatcher, samples } = await told();
    await samples();
    dispatcher.tell("lanes", { lanes: [] });
    dispatcher.tell("batches", { states: [] });
    const of = await samples();
    expect(of.value(`${PREFIX}lane_requests`)).toBe(0);
    expect(of.value(`${PREFIX}lane_age`)).toBe(0);
    expect(of.value(`${PREFIX}batches_open`)).toBe(0);
    expect(of.value(`${PREFIX}account_batches`, { batchwise_account: "openai" })).toBe(2);
  });

  test("let an age grow while no report comes", async () => {
    const { samples } = await told();
    const age = async () => (await samples()).value(`${PREFIX}lane_age`) ?? 0;
    const before = await age();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await age()).toBeGreaterThanOrEqual(before + 0.015);
  });

  test("end with the function that was returned", async () => {
    const { dispatcher, detach, samples } = await told();
    await samples();
    detach();
    expect(dispatcher.listened).toEqual([]);
    expect((await samples()).value(`${PREFIX}lane_requests`)).toBe(0);
  });
});

test("a batch that ends has a span from the moment it was formed", () => {
  const { tracer, ended } = spans();
  const dispatcher = new Teller();
  instrumentDispatcher(dispatcher, { meter: null, tracer });
  expect(dispatcher.listened).toEqual(["batch"]);
  dispatcher.tell("batch", EVENTS.batch);
  const lastError = { code: "BATCH_EXPIRED", message: "It took too long." };
  dispatcher.tell("batch", { batch: { ...BATCH, lastError, providerBatchId: null }, ageMs: 1 });
  const [good, bad] = ended();
  expect(good?.name).toBe("batchwise batch at openai");
  expect(good?.startTime).toEqual([1_000, 0]);
  expect(good?.endTime).toEqual([1_090, 0]);
  expect(good?.attributes).toMatchObject({ "batchwise.batch.id": "b1", "batchwise.provider.batch.id": "batch_1" });
  expect(bad?.attributes["error.type"]).toBe("BATCH_EXPIRED");
});

test("instrumentDispatcher refuses other objects, and unknown options", () => {
  expect(thrownBy(() => instrumentDispatcher({} as never))).toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining("Expected `dispatcher` to be an object with on, stats"),
  });
  expect(thrownBy(() => instrumentDispatcher(new Teller(), { keyLabel: true } as never))).toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining("Unknown option `keyLabel`"),
  });
});
