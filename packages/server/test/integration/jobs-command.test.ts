import { existsSync, statSync, writeFileSync } from "node:fs";
import { createDispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { ended, Practice } from "../support/practice.ts";

/** A job "in" of three requests, of which r1 failed. */
async function ranJob(): Promise<Practice> {
  const practice = await Practice.start({
    answer: ({ body }) =>
      JSON.stringify(body).includes("Say 1.")
        ? { status: 400, body: { error: { code: "bad_word", message: "No." } } }
        : { status: 200, body: { ok: true, usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } } },
  });
  practice.writeLines("in.jsonl", 3);
  expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 3 });
  return practice;
}

/** Waiting requests in the store of a folder, where no dispatcher runs. */
async function enqueued(practice: Practice, count: number): Promise<void> {
  const store = sqliteStore({ path: practice.file("batchwise.sqlite") });
  const client = new OpenAI({ apiKey: "any", baseURL: "http://fake.test/v1", fetch: fakeProvider().fetch });
  const dispatcher = createDispatcher({ store, accounts: [openaiAccount({ client })] });
  const body = { model: "m", input: "x" };
  await dispatcher.enqueueMany(Array.from({ length: count }, (_, n) => ({ id: `job:${n}`, job: "job", body })));
  await dispatcher.stop();
  await store.close();
}

async function json(practice: Practice, ...args: readonly string[]): Promise<unknown> {
  const { code, stdout, output } = await practice.done("jobs", ...args, "--json");
  expect({ code, output }).toMatchObject({ code: 0 });
  return JSON.parse(stdout);
}

test("jobs list says that more may wait than it has counted", async () => {
  const practice = await Practice.start();
  await enqueued(practice, 50_001);
  const { stdout } = await practice.done("jobs", "list");
  expect(stdout).toContain("50,000 or more");
});

const ASIDE = "01HZZZZZZZZZZZZZZZZZZZZZZZ";

/** Enqueues the two requests of in.jsonl and puts them aside in one batch. */
async function putAside(practice: Practice, providerBatchId: string | null): Promise<void> {
  const store = sqliteStore({ path: practice.file("batchwise.sqlite") });
  const fake = fakeProvider();
  const client = new OpenAI({ apiKey: "any", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const dispatcher = createDispatcher({ store, accounts: [openaiAccount({ client })] });
  const messages = (n: number): { role: string; content: string }[] => [{ role: "user", content: `Say ${n}.` }];
  await dispatcher.enqueueMany(
    [0, 1].map((n) => ({
      ...{ id: `in:r${n}`, job: "in", endpoint: "/v1/chat/completions" as const },
      body: { model: "m", messages: messages(n) },
    })),
  );
  const limits = { tokens: Infinity, requests: Infinity, batches: Infinity };
  const { lanes } = await store.probe(1, Date.now());
  const sealed = await store.seal({
    ...{
      key: ASIDE,
      lane: lanes[0]?.lane ?? "",
      account: "openai",
      ledger: "openai/m",
      limits,
    },
    ...{ maxRequests: 10, maxBytes: 1e6, maxTokens: 1e6, minRequests: 1, avoidCounts: [], owner: "test" },
    ...{ leaseUntil: Date.now(), now: Date.now() },
  });
  expect(sealed.ok).toBe(true);
  const lastError = JSON.stringify({ code: "lost", message: "The provider lost it." });
  const changes = { state: "quarantined", lastError, providerBatchId, leaseUntil: 0 } as const;
  await store.transition(ASIDE, 1, changes, Date.now());
  await dispatcher.stop();
  await store.close();
}

describe("batchwise jobs", () => {
  test("list shows jobs with their sums, and batches", async () => {
    const practice = await ranJob();
    const { output } = await practice.done("jobs", "list");
    expect(output).toMatch(/^JOB +REQUESTS +OPEN +SUCCEEDED +FAILED/);
    expect(output).toMatch(/^in +3 +0 +2 +1 +0 +0 +10 +4 +-$/m);
    expect(output).toMatch(/ done +openai +m +3 +0 .* ago +batch_\w+/);
    expect(await json(practice, "list")).toMatchObject({
      jobs: [{ job: "in", requests: 3, open: 0, succeeded: 2, failed: 1, inputTokens: 10, outputTokens: 4 }],
      newest: [{ state: "done", requests: 3 }],
      outcomes: { succeeded: 2, failed: 1 },
    });
  });

  test("list shows how a job stands now: a request that was retried counts once", async () => {
    let isBad = true;
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const practice = await Practice.start({
      answer: () =>
        isBad
          ? { status: 400, body: { error: { code: "bad_word", message: "No." } } }
          : { status: 200, body: { ok: true, usage } },
    });
    practice.writeLines("in.jsonl", 5, "gpt-4o-mini");
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 3 });
    isBad = false;
    expect(await json(practice, "retry", "--job", "in")).toMatchObject({ retried: 5 });
    expect((await practice.done("jobs", "list")).output).toMatch(/^in +5 +5 +0 +0 +0 +0 +0 +0 +\$0\.0000$/m);
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
    expect((await practice.done("jobs", "list")).output).toMatch(/^in +5 +0 +5 +0 +0 +0 +25 +10 +< \$0\.0001$/m);
    expect(await json(practice, "inspect", "in")).toMatchObject({
      ...{ kind: "job", requests: 5, open: 0, succeeded: 5, failed: 0, errorCodes: {} },
      cost: expect.closeTo(25 * 0.075e-6 + 10 * 0.3e-6),
    });
  });

  test("inspect shows a request, a batch or a job, whichever is named", async () => {
    const practice = await ranJob();
    const { output } = await practice.done("jobs", "inspect", "in:r1");
    expect(output).toMatch(/^state +failed$/m);
    expect(output).toMatch(/^error +\{"code":"bad_word"/m);
    const list = (await json(practice, "list")) as { readonly newest: readonly { readonly key: string }[] };
    const key = list.newest[0]?.key ?? "";
    expect(await json(practice, "inspect", "in:r1")).toMatchObject({
      ...{ kind: "request", id: "in:r1", state: "ended", body: { model: "m" } },
      outcome: { status: "failed", payload: { error: { code: "bad_word" } }, batchKey: key },
    });
    expect(await json(practice, "inspect", key)).toMatchObject({ kind: "batch", key, remaining: 0 });
    expect(await json(practice, "inspect", "in")).toMatchObject({
      kind: "job",
      failed: 1,
      errorCodes: { bad_word: 1 },
    });
    const none = await practice.done("jobs", "inspect", "r1");
    expect(none).toMatchObject({ code: 2, output: expect.stringContaining('Nothing is named "r1"') });
  });

  test("outcomes prints the recorded ones, and ends", async () => {
    const practice = await ranJob();
    const { stdout } = await practice.done("jobs", "outcomes");
    const all = stdout.trim().split("\n");
    expect(all.length).toBe(3);
    const failed = await practice.done("jobs", "outcomes", "--status", "failed", "--job", "in", "--format", "openai");
    expect(JSON.parse(failed.stdout)).toMatchObject({ custom_id: "in:r1", error: { code: "bad_word" } });
    const last = JSON.parse(all.at(-1) ?? "");
    expect(await practice.done("jobs", "outcomes", "--after", String(last.cursor))).toMatchObject({
      code: 0,
      stdout: "",
    });
    expect(await json(practice, "outcomes", "--output", "all.jsonl")).toEqual({ output: "all.jsonl", outcomes: 3 });
    expect(practice.lines("all.jsonl").length).toBe(3);
    const none = await practice.done("jobs", "outcomes", "--job", "nope");
    const says = 'No job is named "nope"; `batchwise jobs list` shows them.';
    expect(none).toMatchObject({ code: 2, stdout: "", output: expect.stringContaining(says) });
  });

  test("retry takes ids, or all that match, and skips succeeded ones", async () => {
    const practice = await ranJob();
    const none = await practice.done("jobs", "retry", "in:r0", "in:r9");
    const says = "Set to run again: 0 requests. 1 other waited already or succeeded. 1 id is unknown to the store.";
    expect(none).toMatchObject({ code: 3, output: expect.stringContaining(says) });
    const counts = { asked: 0, retried: 0, unknown: 0 };
    expect(await json(practice, "retry", "--job", "in", "--code", "other")).toEqual(counts);
    const one = { asked: 1, retried: 1, unknown: 0 };
    expect(await json(practice, "retry", "--job", "in", "--code", "bad_word")).toEqual(one);
    const both = await practice.done("jobs", "retry", "in:r0", "--job", "in");
    expect(both).toMatchObject({
      code: 2,
      output: expect.stringContaining("Expected ids of requests, or at least one"),
    });
    expect(await practice.done("jobs", "retry")).toMatchObject({ code: 2 });
  });

  test("cancel ends waiting requests, by id or by job", async () => {
    const practice = await Practice.start();
    await enqueued(practice, 1_500);
    const one = await json(practice, "cancel", "job:0", "job:0", "nobody");
    expect(one).toEqual({ cancelled: 1, requested: 0, ended: 0, not_found: 1, quarantined: [] });
    expect(await json(practice, "cancel", "job:0")).toMatchObject({ cancelled: 0, ended: 1 });
    expect(await json(practice, "cancel", "--job", "job")).toEqual({
      cancelled: 1_499,
      requested: 0,
      ended: 0,
      not_found: 0,
      quarantined: [],
    });
    const { output } = await practice.done("jobs", "cancel", "--job", "job");
    expect(output).toContain("No request matches.");
  });

  test("cancel skips a quarantined batch, which it cannot cancel at the provider, and says how to end it", async () => {
    const practice = await Practice.start();
    await putAside(practice, "batch_live");
    expect(await json(practice, "cancel", "--job", "in")).toMatchObject({ requested: 2, quarantined: [ASIDE] });
    expect(await json(practice, "inspect", ASIDE)).toMatchObject({
      ...{ state: "quarantined", providerBatchId: "batch_live", orphans: [] },
    });
    const { output } = await practice.done("jobs", "cancel", "--job", "in");
    const line = /batchwise (jobs requeue \S+)/.exec(output)?.[1] ?? "";
    expect(await practice.done(...line.split(" "))).toMatchObject({ code: 0 });
    practice.writeLines("in.jsonl", 2);
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({
      ...{ code: 3, output: expect.stringContaining("2 cancelled") },
    });
    expect(practice.fake.runs().size).toBe(0);
  });

  test("requeue sends the requests of a quarantined batch again", async () => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 2);
    await putAside(practice, null);
    const stopped = await ended(practice.run("in.jsonl"));
    expect(stopped).toMatchObject({ code: 3, output: expect.stringContaining("2 requests wait for a person") });
    const line = /batchwise (jobs requeue \S+)/.exec(stopped.output)?.[1]?.replace(",", "") ?? "";
    const sick = await practice.done("jobs", "doctor");
    expect(sick).toMatchObject({
      code: 3,
      output: expect.stringContaining("quarantined, 2 requests wait: The provider lost it."),
    });
    expect(sick.output).toContain(line);
    expect(await practice.done(...line.split(" "))).toMatchObject({ code: 0, output: "1 batch of 1 requeued.\n" });
    expect(await practice.done("jobs", "requeue", "--all")).toMatchObject({ code: 0 });
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
    expect(practice.lines("in.outcomes.jsonl").length).toBe(2);
  });

  test("prune lets go of old outcomes; a run of a pruned job sends nothing and keeps its earlier output", async () => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 3);
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
    expect(await json(practice, "prune", "--older-than", "1h")).toEqual({ requests: 0, batches: 0, kept: 0 });
    const pruned = await practice.done("jobs", "prune", "--older-than", "0s", "--status", "succeeded");
    expect(pruned).toMatchObject({ code: 0, output: expect.stringContaining("Pruned: 3 requests") });
    const again = await ended(practice.run("in.jsonl"));
    expect(again).toMatchObject({ code: 3, output: expect.stringContaining("were they pruned?") });
    expect(practice.lines("in.outcomes.jsonl.previous").length).toBe(3);
    expect([...practice.fake.runs().values()]).toEqual([1, 1, 1]);
    const wrong = await practice.done("jobs", "prune", "--older-than", "soon");
    expect(wrong).toMatchObject({ code: 2, output: expect.stringContaining("Expected a span such as 90s") });
  });

  test("doctor finds nothing where all is well, and a refused key where it is not", async () => {
    const practice = await ranJob();
    const well = await practice.done("jobs", "doctor");
    expect(well).toMatchObject({ code: 0, output: expect.not.stringContaining("PROBLEM") });
    expect(well.output).toContain("takes the key in OPENAI_API_KEY");
    expect(well.output).toContain("clock: agrees with the provider's");
    practice.fake.inject({
      on: "batches.list",
      times: 9,
      reply: { status: 401, body: { error: { message: "Wrong key." } } },
    });
    const sick = await practice.done("jobs", "doctor", "--json");
    expect(sick.code).toBe(3);
    const { healthy, findings } = JSON.parse(sick.stdout);
    expect(healthy).toBe(false);
    expect(findings.find(({ check }: { readonly check: string }) => check === "account")).toMatchObject({
      ...{ level: "problem", found: expect.stringContaining("401 Wrong key") },
      advice: expect.stringContaining("Check OPENAI_API_KEY"),
    });
  });

  test("run makes a store that only its owner can read, or as --file-mode says; doctor reports one that others can", async () => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 1);
    for (const [store, mode, ...args] of [["a", 0o600] as const, ["b", 0o664, "--file-mode", "664"] as const]) {
      const asked = ["--store", `sqlite:${store}.sqlite`];
      expect(await ended(practice.run("in.jsonl", "--force", ...asked, ...args))).toMatchObject({ code: 0 });
      expect(statSync(practice.file(`${store}.sqlite`)).mode & 0o777).toBe(mode);
      const notice = /^notice {2}store: any user of this machine can read b\.sqlite/m;
      const { output } = await practice.done("jobs", "doctor", ...asked);
      expect([notice.test(output), output.includes("chmod o-r b.sqlite")]).toEqual([store === "b", store === "b"]);
    }
    expect((await practice.done("run", "in.jsonl", "--file-mode", "444")).output).toContain("such as 660");
  });

  test("doctor distinguishes an address without a server from a key that is refused", async () => {
    const practice = await ranJob();
    const nobody = await practice.done("jobs", "doctor", "--base-url", "http://127.0.0.1:1/v1");
    expect(nobody).toMatchObject({
      code: 3,
      output: expect.stringContaining("PROBLEM account: no server answers at http:"),
    });
    expect(nobody.output).toContain("-> Check --base-url / OPENAI_BASE_URL, and the network.");
    expect(nobody.output).not.toContain("OPENAI_API_KEY");
    const elsewhere = await practice.done("jobs", "doctor", "--base-url", practice.url.replace("/v1", "/v9"));
    expect(elsewhere).toMatchObject({ code: 3, output: expect.stringContaining("does not answer as it should: 404") });
  });

  test("a missing store is reported, and not made", async () => {
    const practice = await Practice.start();
    for (const command of ["list", "outcomes"]) {
      const { code, output } = await practice.done("jobs", command);
      expect({ code, output }).toMatchObject({
        code: 2,
        output: expect.stringContaining("There is no store batchwise.sqlite"),
      });
    }
    const doctor = await practice.done("jobs", "doctor");
    expect(doctor).toMatchObject({ code: 3, output: expect.stringContaining("PROBLEM store: There is no store") });
    expect(doctor.output).toContain("makes one, or name another with --store.");
    expect(doctor.output).not.toContain("Check the address");
    expect(existsSync(practice.file("batchwise.sqlite"))).toBe(false);
    writeFileSync(practice.file("mine.db"), "");
    const { output } = await practice.done("jobs", "list");
    expect(output).toContain("makes one, or name another, as in --store sqlite:mine.db.");
  });

  test("a server that does not answer is named by its address, without the password", async () => {
    const practice = await Practice.start();
    const postgres = await practice.done("jobs", "list", "--store", "postgres://me:secret@127.0.0.1:1/db");
    expect(postgres).toMatchObject({ code: 1, output: expect.stringContaining("ECONNREFUSED") });
    const redis = await practice.done("jobs", "list", "--store", "redis://me:secret@127.0.0.1:1");
    expect(redis).toMatchObject({
      code: 1,
      output: expect.stringContaining("redis://me:…@127.0.0.1:1 does not answer"),
    });
    expect(`${postgres.output}${redis.output}`).not.toContain("secret");
  });
});
