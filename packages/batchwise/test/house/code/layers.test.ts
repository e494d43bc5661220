import { describe, expect, test } from "vitest";
import { filesMatching, manifestOf, textOf } from "../repository.ts";
import { cycleIn, type Import, importsOf, isPure, violation } from "./layers.ts";

const src = "packages/batchwise/src";

describe("the rules between the rooms", () => {
  test.each([
    ["core imports another room", `${src}/core/batcher.ts`, "../stream/stream.ts", "core may not import stream"],
    ["core imports node:", `${src}/core/clock.ts`, "node:timers", "imports no node: module"],
    ["core imports a package", `${src}/core/clock.ts`, "p-queue", "depends on no package"],
    ["stream imports node:", `${src}/stream/stream.ts`, "node:stream", "imports no node: module"],
    [
      "the entry imports a room of its own entry",
      `${src}/index.ts`,
      "./testing/index.ts",
      "entry may not import testing",
    ],
    [
      "the engine imports its tests' clock",
      `${src}/core/clock.ts`,
      "../testing/index.ts",
      "core may not import testing",
    ],
    ["limits imports node:", `${src}/limits/bucket.ts`, "node:timers", "imports no node: module"],
    [
      "limits imports the engine",
      `${src}/limits/bucket.ts`,
      "../core/engine/batcher.ts",
      "limits may not import core/engine",
    ],
    ["core imports limits", `${src}/core/contract/options.ts`, "../../limits/bucket.ts", "core may not import limits"],
    ["tensor imports onnx", `${src}/tensor/pad.ts`, "../onnx/index.ts", "tensor may not import onnx"],
    ["threads import onnx", `${src}/threads/index.ts`, "../onnx/index.ts", "threads may not import onnx"],
    ["core imports the entry", `${src}/core/batcher.ts`, "../index.ts", "core may not import entry"],
    [
      "a store imports a store",
      `${src}/dispatch/stores/sqlite/store.ts`,
      "../postgres/sql.ts",
      "dispatch/stores/sqlite may not import dispatch/stores/postgres",
    ],
    [
      "a store imports a decision",
      `${src}/dispatch/stores/sqlite/store.ts`,
      "../../batches/seal/thresholds.ts",
      "dispatch/stores/sqlite may not import dispatch/batches",
    ],
    [
      "a provider imports a store",
      `${src}/dispatch/providers/openai/account.ts`,
      "../../stores/memory/store.ts",
      "dispatch/providers/openai may not import dispatch/stores/memory",
    ],
    [
      "a provider imports a provider",
      `${src}/dispatch/providers/openai/account.ts`,
      "../anthropic/account.ts",
      "dispatch/providers/openai may not import dispatch/providers/anthropic",
    ],
    [
      "what providers share imports one of them",
      `${src}/dispatch/providers/shapes/sdk/sdk-error.ts`,
      "../../openai/account.ts",
      "dispatch/providers/shapes may not import dispatch/providers/openai",
    ],
    [
      "the dispatcher imports a provider",
      `${src}/dispatch/dispatcher.ts`,
      "./providers/openai/account.ts",
      "dispatch may not import dispatch/providers/openai",
    ],
    [
      "a folder of the dispatcher imports the dispatcher",
      `${src}/dispatch/operate/stats.ts`,
      "../dispatcher.ts",
      "dispatch/operate may not import dispatch",
    ],
    [
      "a job imports a door",
      `${src}/dispatch/jobs/producer.ts`,
      "../doors/fetch/fetch-door.ts",
      "dispatch/jobs may not import dispatch/doors",
    ],
    [
      "a request imports a job",
      `${src}/dispatch/requests/usage.ts`,
      "../jobs/job-progress.ts",
      "dispatch/requests may not import dispatch/jobs",
    ],
    [
      "a batch imports the intake",
      `${src}/dispatch/batches/seal/sealer.ts`,
      "../../requests/enqueue/enqueuer.ts",
      "dispatch/batches may not import dispatch/requests",
    ],
    [
      "a batch imports an operator's method",
      `${src}/dispatch/batches/poll/poll.ts`,
      "../../operate/poll-now.ts",
      "dispatch/batches may not import dispatch/operate",
    ],
    [
      "an account imports a step of a batch",
      `${src}/dispatch/accounts/end-pause.ts`,
      "../batches/poll/poll.ts",
      "dispatch/accounts may not import dispatch/batches",
    ],
    [
      "the runtime imports a step",
      `${src}/dispatch/runtime/lease/lease.ts`,
      "../../batches/poll/poll.ts",
      "dispatch/runtime may not import dispatch/batches",
    ],
    [
      "a price imports the runtime",
      `${src}/dispatch/prices/price-limits.ts`,
      "../runtime/runtime.ts",
      "dispatch/prices may not import dispatch/runtime",
    ],
    [
      "a stored text imports an option",
      `${src}/dispatch/format/payload.ts`,
      "../options/call-options.ts",
      "dispatch/format may not import dispatch/options",
    ],
    [
      "the contract imports a stored text",
      `${src}/dispatch/contract/store/rows.ts`,
      "../../format/payload.ts",
      "dispatch/contract may not import dispatch/format",
    ],
    [
      "the conformance suite imports a store",
      `${src}/dispatch-testing/conformance/store/case.ts`,
      "../../../dispatch/stores/memory/memory-store.ts",
      "dispatch-testing may not import dispatch/stores/memory",
    ],
    [
      "the dispatcher imports the fake provider",
      `${src}/dispatch/dispatcher.ts`,
      "../dispatch-testing/index.ts",
      "dispatch may not import dispatch-testing",
    ],
    [
      "the dispatcher has another folder",
      `${src}/dispatch/helpers/list.ts`,
      "../contract/types.ts",
      "helpers is no folder of dispatch",
    ],
    ["an unknown room imports core", `${src}/magic/trick.ts`, "../core/batcher.ts", "magic may not import core"],
    [
      "the engine imports the makers of batchers",
      `${src}/core/engine/batcher.ts`,
      "../../makers/batch.ts",
      "core may not import makers",
    ],
    [
      "a batch imports the scheduler",
      `${src}/core/run/batch.ts`,
      "../engine/scheduler.ts",
      "core/run may not import core/engine",
    ],
    [
      "a submit imports a batch",
      `${src}/core/submit/intake.ts`,
      "../run/batch.ts",
      "core/submit may not import core/run",
    ],
    [
      "the policy imports the intake",
      `${src}/core/policy/pack.ts`,
      "../submit/intake.ts",
      "core/policy may not import core/submit",
    ],
    [
      "the counters import the policy",
      `${src}/core/stats/recorder.ts`,
      "../policy/pack.ts",
      "core/stats may not import core/policy",
    ],
    [
      "the queue imports the policy",
      `${src}/core/queue/queue.ts`,
      "../policy/pack.ts",
      "core/queue may not import core/policy",
    ],
    [
      "the order of tenants imports the counters",
      `${src}/core/queue/fair-line.ts`,
      "../stats/recorder.ts",
      "core/queue may not import core/stats",
    ],
    [
      "the contract imports the queue",
      `${src}/core/contract/types.ts`,
      "../queue/entry.ts",
      "core/contract may not import core/queue",
    ],
    [
      "the clock imports the contract",
      `${src}/core/time/clock.ts`,
      "../contract/types.ts",
      "core/time may not import core/contract",
    ],
    ["the core has another folder", `${src}/core/helpers/list.ts`, "../time/clock.ts", "helpers is no folder of core"],
    ["the core has a file of its own", `${src}/core/list.ts`, "./time/clock.ts", "core itself is no folder of core"],
    [
      "the library imports the server by name",
      `${src}/otel/index.ts`,
      "@batchwise/server",
      "nothing imports the server",
    ],
    [
      "the library imports the server by path",
      `${src}/otel/index.ts`,
      "../../../server/src/http/app.ts",
      "nothing imports the server",
    ],
    ["the library imports itself by name", `${src}/testing/index.ts`, "batchwise", "imports are relative"],
    ["a source imports a test", `${src}/core/batcher.ts`, "../../test/core/tools.ts", "imports sources only"],
    [
      "the server reaches into the library",
      "packages/server/src/http/app.ts",
      `../../../batchwise/src/core/batcher.ts`,
      "by package name",
    ],
  ])("%s: refused", (_case, from, specifier, reason) => {
    expect(violation({ from, specifier })).toContain(reason);
  });

  test.each([
    [`${src}/index.ts`, "./core/batcher.ts"],
    [`${src}/index.ts`, "./stream/stream.ts"],
    [`${src}/index.ts`, "./limits/rate-limiter.ts"],
    [`${src}/limits/rate-limiter.ts`, "../core/contract/limiter.ts"],
    [`${src}/limits/rate-limiter.ts`, "../core/time/clock.ts"],
    [`${src}/makers/batch.ts`, "../core/engine/batcher.ts"],
    [`${src}/padded/padded-packer.ts`, "../core/policy/packer.ts"],
    [`${src}/core/engine/scheduler.ts`, "./slots.ts"],
    [`${src}/core/run/batch.ts`, "../submit/services.ts"],
    [`${src}/core/submit/admission.ts`, "../policy/pack.ts"],
    [`${src}/core/policy/pack.ts`, "../queue/entry.ts"],
    [`${src}/core/queue/fair-line.ts`, "./entry.ts"],
    [`${src}/core/queue/queue.ts`, "../time/heap.ts"],
    [`${src}/core/contract/events.ts`, "../time/clock.ts"],
    [`${src}/stream/rounds.ts`, "../core/time/clock.ts"],
    [`${src}/testing/virtual-clock.ts`, "../core/time/clock.ts"],
    [`${src}/onnx/model.ts`, "../tensor/pad.ts"],
    [`${src}/threads/connect.ts`, "node:worker_threads"],
    [`${src}/dispatch/index.ts`, "./stores/memory/store.ts"],
    [`${src}/dispatch/dispatcher.ts`, "./requests/enqueue/enqueuer.ts"],
    [`${src}/dispatch/requests/enqueue/enqueuer.ts`, "../../batches/seal/sealer.ts"],
    [`${src}/dispatch/batches/workers.ts`, "./submit/submit.ts"],
    [`${src}/dispatch/batches/submit/submit.ts`, "../../runtime/lease/lease.ts"],
    [`${src}/dispatch/stores/sqlite/sqlite-store.ts`, "../../contract/store/store.ts"],
    [`${src}/dispatch/providers/openai/account.ts`, "../shapes/sdk/sdk-call.ts"],
    [`${src}/dispatch-testing/conformance/store/seal.ts`, "../../../dispatch/contract/store/store.ts"],
    ["packages/server/src/http/app.ts", "batchwise"],
    ["packages/server/src/http/app.ts", "hono"],
    ["packages/server/src/http/app.ts", "../models/pool.ts"],
  ])("%s may import %s", (from, specifier) => {
    expect(violation({ from, specifier })).toBeUndefined();
  });

  test("a package is allowed where it is declared as a peer, and only then", () => {
    const edge = { from: `${src}/otel/index.ts`, specifier: "@opentelemetry/api" };
    expect(violation(edge, { peers: ["@opentelemetry/api"] })).toBeUndefined();
    expect(violation(edge)).toContain("depends on no package");
  });

  describe("a pure file of the dispatcher", () => {
    const decision = `${src}/dispatch/batches/poll/after-poll.ts`;
    const other = `${src}/dispatch/batches/submit/after-failure.ts`;
    const known = { pure: new Set([decision, other]) };

    test.each([
      ["the code beside it", "./poll.ts", "dispatch/batches"],
      ["the runtime", "../../runtime/lease/lease.ts", "dispatch/runtime"],
      ["options", "../../options/resolve-options.ts", "dispatch/options"],
    ])("does not import %s", (_what, specifier, reason) => {
      expect(violation({ from: decision, specifier }, known)).toContain(`it is pure and may not import ${reason}`);
    });

    test.each(["../submit/after-failure.ts", "../../format/encode.ts", "../../contract/store/rows.ts"])(
      "may import %s",
      (specifier) => {
        expect(violation({ from: decision, specifier }, known)).toBeUndefined();
      },
    );

    test("is imported by any folder, but by no store and no provider", () => {
      const specifier = "../../batches/poll/after-poll.ts";
      expect(violation({ from: `${src}/dispatch/runtime/lease/lease.ts`, specifier }, known)).toBeUndefined();
      expect(violation({ from: `${src}/dispatch/stores/memory/batches.ts`, specifier }, known)).toContain("may not");
      expect(violation({ from: `${src}/dispatch/providers/xai/account.ts`, specifier }, known)).toContain("may not");
    });

    test.each([
      ["// Decides something. Pure.\n\nexport {};", true],
      ["// Decides something. Pure: takes the\n// time.\n\nexport {};", true],
      ["// Decides something. Pure, except for a call.\n\nexport {};", false],
      ["// Decides something.\n\n// Pure.\nexport {};", false],
    ])("says so in its opening comment", (text, expected) => {
      expect(isPure(text)).toBe(expected);
    });
  });

  test("every way to name another file is read", () => {
    const text = `
      import one, { type Two } from "./one.ts";
      import type { Three } from "./three.ts";
      import "./four.ts";
      export * from "./five.ts";
      export { six } from "./six.ts";
      export const seven = await import("./seven.ts");
      export type Eight = import("./eight.ts").Eight;
      export const nine = one;`;
    const names = ["one", "three", "four", "five", "six", "seven", "eight"];
    expect(importsOf("all.ts", text)).toEqual(names.map((name) => `./${name}.ts`));
  });

  test("a cycle is found and named, a diamond is not one", () => {
    const edge = (from: string, to: string): Import => ({ from: `a/${from}.ts`, specifier: `./${to}.ts` });
    expect(cycleIn([edge("x", "y"), edge("y", "z"), edge("z", "y")])).toEqual(["a/y.ts", "a/z.ts", "a/y.ts"]);
    expect(cycleIn([edge("x", "y"), edge("x", "z"), edge("y", "w"), edge("z", "w")])).toBeUndefined();
  });
});

describe("the sources", () => {
  const edges = filesMatching("packages/*/src/**/*.ts").flatMap((from) =>
    importsOf(from, textOf(from)).map((specifier) => ({ from, specifier })),
  );
  const peers = Object.keys(manifestOf("packages/batchwise").peerDependencies ?? {});
  const pure = new Set(filesMatching(`${src}/dispatch/**/*.ts`).filter((path) => isPure(textOf(path))));

  test("keep the rules", () => {
    const broken = edges.flatMap((edge) => {
      const reason = violation(edge, { peers, pure });
      return reason === undefined ? [] : [`${edge.from} imports ${edge.specifier}: ${reason}`];
    });
    expect(edges.length).toBeGreaterThan(10);
    expect(broken).toEqual([]);
  });

  test("decide about batches without a clock, chance or a wait", () => {
    const impure = /\bDate\.now|\bMath\.random|\bperformance\.|\bprocess\.|\bsetTimeout|\basync\b|\bawait /;
    const code = (text: string): string => text.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\/|"[^"\n]*"/g, "");
    expect(pure.size).toBeGreaterThan(60);
    expect([...pure].filter((path) => impure.test(code(textOf(path))))).toEqual([]);
  });

  test("have no import cycle", () => {
    expect(cycleIn(edges)).toBeUndefined();
  });
});
