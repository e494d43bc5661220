import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { findEntries } from "./scripts/library/entries.ts";
import { SlowFirst } from "./scripts/slow-first.ts";
import { alone, inThreads, integration, notQuick, ownProcess, slow, unit } from "./scripts/test-files.ts";

// Tests see the library's sources under its public names. With BATCHWISE_DIST=1 the names resolve
// as they do for users, through node_modules to the built packages (run `npm run build` first).
const alias =
  process.env.BATCHWISE_DIST === "1"
    ? []
    : findEntries().map(({ specifier, source }) => ({ find: new RegExp(`^${specifier}$`), replacement: source }));

const afterTests = "scripts/run-after-tests.ts";
const services = "packages/batchwise/test/integration/services/global-setup.ts";
const cores = availableParallelism();
/** `npm run test:quick`. */
const leftOut = process.env.BATCHWISE_QUICK === "1" ? [...slow, ...notQuick] : [];
/**
 * Of unit tests and their hooks. `npm test` runs them beside the integration tests, which go first;
 * there scripts/computing-time.ts fails a test that itself takes two minutes.
 */
const unitTimeout = process.env.BATCHWISE_BESIDE === "1" ? 300_000 : 60_000;
const compiled = new URL("./.cache/compiled", import.meta.url).pathname;

export default defineConfig({
  resolve: { alias },
  test: {
    sequence: { sequencer: SlowFirst },
    // A poll awaits another process, which a busy machine may delay by seconds.
    expect: { poll: { timeout: 30_000 } },
    // Processes that tests start from TypeScript sources compile them once a run and not once each.
    env: { NODE_COMPILE_CACHE: compiled },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          setupFiles: ["scripts/unchanged-globals.ts", "scripts/computing-time.ts", afterTests],
          include: unit,
          exclude: ["**/node_modules/**", ...integration, ...inThreads, ...ownProcess, ...leftOut],
          isolate: false,
          maxWorkers: cores,
          testTimeout: unitTimeout,
          hookTimeout: unitTimeout,
        },
      },
      {
        extends: true,
        test: {
          name: "own-process",
          include: ownProcess,
          exclude: ["**/node_modules/**", ...integration, ...inThreads, ...leftOut],
          maxWorkers: cores,
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "integration",
          setupFiles: ["scripts/unchanged-globals.ts", afterTests],
          globalSetup: services,
          include: integration,
          exclude: ["**/node_modules/**", ...alone],
          isolate: false,
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
          setupFiles: [afterTests],
          globalSetup: services,
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
