// Patterns of the test files, and of test files that run differently from the others:
// vitest.config.ts reads this. A test checks that each pattern matches a file.

export const unit: string[] = ["packages/*/test/**/*.test.ts", "bench/**/*.test.ts", "examples/**/*.test.ts"];
export const integration: string[] = [
  "packages/*/test/{house,integration,tools}/**/*.test.ts",
  "compat/*/test/**/*.test.ts",
  // It needs the releases of TypeScript in compat/versions.
  "packages/batchwise/test/types/misspelt-options.test.ts",
];

/** Run in threads: vitest refuses to fake process.nextTick in a child process. */
export const inThreads: string[] = ["packages/batchwise/test/core/fake-timers.test.ts"];

/**
 * Unit tests that depend on their process: memory and garbage collection, CPU time, globals. Each
 * of these files has its own process; the others share one per core.
 */
export const ownProcess: string[] = [
  "packages/*/test/**/*{memory,contexts,context-stores,timers}.test.ts",
  "packages/batchwise/test/abuse/**/*.test.ts",
  "packages/batchwise/test/core/time/**/*.test.ts",
  "packages/batchwise/test/core/{callable,forget,lifecycle,quadratic,waits}.test.ts",
];

/** Files that measure durations or times: nothing else runs meanwhile. */
export const alone: string[] = [
  "packages/batchwise/test/integration/{event-loop,gather}.test.ts",
  "packages/batchwise/test/integration/limits/redis-limiter-fleet.test.ts",
  "packages/batchwise/test/integration/threads/{share-batcher,thread-handler}.test.ts",
  "packages/server/test/integration/{http-large-bodies,long-texts}.test.ts",
];

/** Files that take ten seconds or more, longest first. */
export const slow: string[] = [
  "packages/batchwise/test/dispatch/day.test.ts",
  "packages/batchwise/test/dispatch/batches/each-call.test.ts",
  "packages/batchwise/test/dispatch/stores/sqlite/conformance.test.ts",
  "packages/batchwise/test/dispatch/batches/submit/protocol.test.ts",
  "packages/batchwise/test/dispatch/simulation.test.ts",
  "packages/batchwise/test/core/learned-cost.test.ts",
  "packages/batchwise/test/simulation/simulation.test.ts",
  "packages/server/test/integration/run-command.test.ts",
  "packages/batchwise/test/integration/dispatch/providers/hostile.test.ts",
  "packages/server/test/integration/packed.test.ts",
  "packages/batchwise/test/integration/dispatch/processes/kill-matrix.test.ts",
  "compat/versions/test/typescript.test.ts",
  "packages/batchwise/test/integration/dispatch/providers/nightly-classification.test.ts",
  "packages/batchwise/test/integration/dispatch/postgres/postgres-conformance.test.ts",
  "packages/server/test/integration/jobs-command.test.ts",
  "compat/frameworks/test/queues/queues.test.ts",
  "compat/frameworks/test/next.test.ts",
  "packages/batchwise/test/integration/dispatch/redis/redis-store.test.ts",
  "packages/server/test/integration/serve-command.test.ts",
  "packages/server/test/integration/service.test.ts",
  "packages/batchwise/test/integration/dispatch/postgres/postgres-fleet.test.ts",
  "compat/models/test/text-lines.test.ts",
  "compat/runtimes/test/node-20.test.ts",
  "packages/batchwise/test/integration/dispatch/postgres/postgres-transactions.test.ts",
  "packages/batchwise/test/house/docs/snippets.test.ts",
  "packages/server/test/integration/run-accounts.test.ts",
  "packages/batchwise/test/integration/dispatch/processes/run-batch.test.ts",
  "packages/batchwise/test/integration/otel/alerts.test.ts",
  "compat/frameworks/test/nest.test.ts",
  "packages/batchwise/test/integration/dispatch/stores/troubled-servers.test.ts",
];

/**
 * Unit tests that `npm run test:quick` leaves out besides the slow ones: five seconds or more, or
 * in other folders, or of the build, which a fresh clone does not have.
 */
export const notQuick: string[] = [
  "bench/**/*.test.ts",
  "packages/batchwise/test/core/quadratic.test.ts",
  "packages/batchwise/test/dispatch/accounts/{bad-hour,outage}.test.ts",
  "packages/batchwise/test/dispatch/{comparison,official-clients,providers}.test.ts",
  "packages/batchwise/test/dispatch/batches/sweep/idle-calls.test.ts",
  "packages/batchwise/test/dispatch/jobs/run-batch.test.ts",
  "packages/batchwise/test/dispatch/batches/poll/stuck-batches.test.ts",
  "packages/batchwise/test/dispatch/batches/collect/read-again.test.ts",
  "packages/batchwise/test/dispatch/providers/vertex/conformance.test.ts",
  "packages/batchwise/test/dispatch/batches/seal/shared-limit.test.ts",
  "packages/batchwise/test/dispatch/storage/{clients,conformance}.test.ts",
  "packages/batchwise/test/dispatch/stores/sqlite/{conformance,pruning}.test.ts",
  "packages/batchwise/test/onnx/text/truncation.test.ts",
  "packages/batchwise/test/types/*.test.ts",
];

/** `npm test` runs some of their cases, `npm run prove` all. */
export const ofSomeCases: string[] = [
  "packages/batchwise/test/core/{learned-cost,length-order-waits}.test.ts",
  "packages/batchwise/test/dispatch/accounts/{bad-hour,outage}.test.ts",
  "packages/batchwise/test/dispatch/{day,official-clients}.test.ts",
  "packages/batchwise/test/dispatch/batches/poll/stuck-batches.test.ts",
  "packages/batchwise/test/dispatch/batches/collect/read-again.test.ts",
  "packages/batchwise/test/dispatch/batches/submit/protocol.test.ts",
  "packages/batchwise/test/dispatch/batches/each-call.test.ts",
  "packages/batchwise/test/onnx/text/truncation.test.ts",
  "packages/batchwise/test/integration/dispatch/providers/hostile.test.ts",
  "compat/versions/test/typescript.test.ts",
];
