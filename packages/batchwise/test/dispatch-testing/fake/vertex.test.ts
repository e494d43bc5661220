// Faults that the fake Vertex AI refuses at once, when a job begins, and when a request runs.

import { type FakeOptions, fakeGcs, fakeProvider } from "batchwise/dispatch/testing";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";

const JOBS = "http://fake.test/v1beta1/projects/p/locations/l/batchPredictionJobs";
const GEMINI = "publishers/google/models/gemini-2.5-flash";
const CLAUDE = "publishers/anthropic/models/claude-haiku-4-5";
const LLAMA = "publishers/meta/models/llama-3.3-70b-instruct-maas";
const HOUR = 3_600_000;
const contents = [{ role: "user", parts: [{ text: "Hi" }] }];
const messages = [{ role: "user", content: "Hi" }];
const params = { anthropic_version: "vertex-2023-10-16", max_tokens: 5, messages };

interface Rig {
  readonly clock: VirtualClock;
  call(path: string, method?: string, body?: object): Promise<{ status: number; body: Job }>;
  create(job?: object): Promise<{ status: number; body: Job }>;
  write(lines: readonly (object | string)[]): void;
  outputs(): Record<string, unknown>[];
}

interface Job {
  readonly name: string;
  readonly state: string;
  readonly error: { readonly message: string; readonly status: string };
  readonly completionStats: unknown;
}

function rig(options: FakeOptions = {}): Rig {
  const [clock, storage] = [virtualClock(Date.UTC(2026, 0, 1)), fakeGcs()];
  const fake = fakeProvider({ clock, storage, ...options });
  const call: Rig["call"] = async (path, method = "GET", body) => {
    const headers = { authorization: "Bearer token" };
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fake.fetch(JOBS + path, { method, headers, ...given });
    return { status: response.status, body: (await response.json()) as Job };
  };
  const job = {
    ...{ displayName: "mine", model: GEMINI },
    inputConfig: { instancesFormat: "jsonl", gcsSource: { uris: ["gs://bucket/in.jsonl"] } },
    outputConfig: { predictionsFormat: "jsonl", gcsDestination: { outputUriPrefix: "gs://bucket/out/" } },
  };
  return {
    ...{ clock, call },
    create: (own = {}) => call("", "POST", { ...job, ...own }),
    write: (lines) => {
      const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
      storage.write("bucket", "in.jsonl", texts.join("\n"));
    },
    outputs: () => {
      const [name = ""] = storage.names("bucket").filter((each) => each.startsWith("out/"));
      const text = Buffer.from(storage.read("bucket", name) ?? []).toString();
      return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    },
  };
}

const idOf = ({ name }: Job): string => `/${name.split("/").at(-1)}`;

describe("a create", () => {
  test.each([
    [{ displayName: "" }, "display_name"],
    [{ model: "gemini-2.5-flash" }, 'The model "gemini-2.5-flash" is not valid.'],
    [{ inputConfig: {} }, 'Expected instancesFormat "jsonl"'],
    [{ outputConfig: {} }, 'Expected predictionsFormat "jsonl"'],
    [{ labels: { Key: "a" } }, "The labels are not valid."],
    [{ labels: { key: "A" } }, "The labels are not valid."],
    [{ metadata: {} }, 'Unknown name "metadata".'],
  ])("with %j is refused", async (own, words) => {
    const { status, body } = await rig().create(own);
    expect([status, body.error.status, body.error.message]).toEqual([
      400,
      "INVALID_ARGUMENT",
      expect.stringContaining(words),
    ]);
  });

  test("without credentials, or without a storage behind the fake, is refused", async () => {
    const fake = fakeProvider();
    expect((await fake.fetch(JOBS)).status).toBe(401);
    const body = JSON.stringify({
      ...{ displayName: "mine", model: GEMINI },
      inputConfig: { instancesFormat: "jsonl", gcsSource: { uris: ["gs://bucket/in.jsonl"] } },
      outputConfig: { predictionsFormat: "jsonl", gcsDestination: { outputUriPrefix: "gs://bucket/out/" } },
    });
    const response = await fake.fetch(JOBS, { method: "POST", headers: { authorization: "Bearer token" }, body });
    expect(await response.text()).toContain("give it `storage: fakeGcs()`");
  });
});

describe("a job", () => {
  test.each([
    [GEMINI, ["{"], "Line 1: Not a JSON object."],
    [GEMINI, [{ request: { contents } }, { key: "a", request: { contents } }], 'Line 2: Unknown field "key".'],
    [GEMINI, [{ custom_id: "a", request: { contents } }], 'Unknown field "custom_id".'],
    [CLAUDE, [{ request: params }], "Expected a custom_id."],
    [LLAMA, [{ custom_id: "a", body: { messages } }], "Expected custom_id, method, url and body."],
  ])("of %s with a line that cannot be read fails as a whole", async (model, lines, words) => {
    const { create, write, clock, call } = rig();
    write(lines);
    const { body } = await create({ model });
    await clock.advance(HOUR);
    const { body: seen } = await call(idOf(body));
    expect([seen.state, seen.error.message]).toEqual(["JOB_STATE_FAILED", expect.stringContaining(words)]);
  });

  test("over its limits fails, and so does one without an input", async () => {
    const { create, write, clock, call } = rig({ limits: { maxJobLines: 1 } });
    const { body: none } = await create();
    write([{ request: { contents } }, { request: { contents } }]);
    const { body: long } = await create();
    await clock.advance(HOUR);
    expect((await call(idOf(none))).body.error.message).toBe("There is no object at gs://bucket/in.jsonl.");
    expect((await call(idOf(long))).body.error.message).toBe("More than 1 requests.");
  });

  test("reports a request's own fault in its line, beside the request", async () => {
    const { create, write, clock, call, outputs } = rig();
    write([{ request: { contents, labels: { a: "B" } } }, { request: { contents: [], labels: { a: "b" } } }]);
    const { body } = await create();
    await clock.advance(HOUR);
    const { body: seen } = await call(idOf(body));
    expect(seen.completionStats).toEqual({ successfulCount: "0", failedCount: "2", incompleteCount: "0" });
    for (const line of outputs()) {
      expect(line).toMatchObject({
        status: expect.stringMatching(/^Bad Request: \{"error"/),
        request: {},
        response: {},
      });
    }
  });

  test("of Claude wants the version of Vertex, and no model", async () => {
    const { create, write, clock, call, outputs } = rig();
    const { anthropic_version: _, ...without } = params;
    const requests = [params, without, { ...params, model: "m" }];
    write(requests.map((request, place) => ({ custom_id: `r${place}`, request })));
    const { body } = await create({ model: CLAUDE });
    await clock.advance(HOUR);
    await call(idOf(body));
    const statuses = Object.fromEntries(outputs().map(({ custom_id: id, status }) => [id, status]));
    expect(statuses).toEqual({
      r0: "",
      r1: expect.stringContaining("anthropic_version: Field required"),
      r2: expect.stringContaining("model: Extra inputs are not permitted"),
    });
  });

  test("is listed by pages and by label, cancelled while it runs, and deleted once it has ended", async () => {
    const { create, write, clock, call } = rig();
    write([{ request: { contents } }]);
    const jobs = [(await create({ labels: { a: "x" } })).body, (await create({ labels: { a: "y" } })).body];
    const [first, second] = jobs as [Job, Job];
    const page = (await call("?pageSize=1")).body as unknown as { batchPredictionJobs: Job[]; nextPageToken: string };
    expect(page.batchPredictionJobs.map(({ name }) => name)).toEqual([second.name]);
    const rest = (await call(`?pageSize=1&pageToken=${page.nextPageToken}`)).body;
    expect(rest).toMatchObject({ batchPredictionJobs: [{ name: first.name }] });
    const filtered = (await call(`?filter=${encodeURIComponent('labels.a="x"')}`)).body;
    expect(filtered).toMatchObject({ batchPredictionJobs: [{ name: first.name }] });
    expect((await call("?filter=state%3D1")).status).toBe(400);
    expect((await call(idOf(first), "DELETE")).status).toBe(400);
    expect((await call(`${idOf(first)}:cancel`, "POST", {})).status).toBe(200);
    expect((await call(idOf(first))).body.state).toBe("JOB_STATE_CANCELLING");
    await clock.advance(HOUR);
    expect((await call(`${idOf(first)}:cancel`, "POST", {})).status).toBe(400);
    expect((await call(idOf(first), "DELETE")).status).toBe(200);
    expect((await call(idOf(first))).status).toBe(404);
  });
});
