import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { findEntries } from "./scripts/library/entries.ts";

// Tests see the library's sources under its public names. With BATCHWISE_DIST=1 the names resolve as they do for users,
// through node_modules to the built packages (run `npm run build` first).
const alias =
  process.env.BATCHWISE_DIST === "1"
    ? []
    : findEntries().map(({ specifier, source }) => ({ find: new RegExp(`^${specifier}$`), replacement: source }));

const services = "packages/batchwise/test/integration/services/global-setup.ts";
const cores = availableParallelism();
const compiled = new URL("./.cache/compiled", import.meta.url).pathname;

const unit = ["packages/*/test/**/*.test.ts", "bench/**/*.test.ts", "examples/**/*.test.ts"];
const integration = ["packages/*/test/{house,integration,tools}/**/*.test.ts"];

/** Run in threads: vitest refuses to fake process.nextTick in a child process. */
const inThreads = ["packages/batchwise/test/core/fake-timers.test.ts"];

/**
 * Unit tests that look at more than their own objects: memory and collected garbage, the time that the process has
 * computed, the globals. Each of these files has a process of its own; the others share one a core.
 */
const ownProcess = [
  "packages/*/test/**/*{memory,contexts,context-stores,timers}.test.ts",
  "packages/batchwise/test/abuse/**/*.test.ts",
  "packages/batchwise/test/core/time/**/*.test.ts",
  "packages/batchwise/test/core/{forget,lifecycle,many-priorities,waits}.test.ts",
];

/** Files that measure how long something takes, or when it happens: nothing else runs meanwhile. */
const alone = [
  "packages/batchwise/test/integration/{event-loop,gather}.test.ts",
  "packages/batchwise/test/integration/threads/{share-batcher,thread-handler}.test.ts",
  "packages/server/test/integration/http-{fairness,large-bodies,urgency}.test.ts",
];

export default defineConfig({
  resolve: { alias },
  test: {
    // Processes that tests start from TypeScript sources compile them once a run and not once each.
    env: { NODE_COMPILE_CACHE: compiled },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: unit,
          exclude: ["**/node_modules/**", ...integration, ...inThreads, ...ownProcess],
          isolate: false,
          maxWorkers: cores,
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "own process",
          include: ownProcess,
          exclude: ["**/node_modules/**", ...integration, ...inThreads],
          maxWorkers: cores,
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "integration",
          globalSetup: services,
          include: integration,
          exclude: ["**/node_modules/**", ...alone],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // They wait for servers and processes more than they compute.
          maxWorkers: cores + 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: alone,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: "threads",
          include: inThreads,
          pool: "threads",
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
