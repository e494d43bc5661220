import { defineConfig } from "vitest/config";
import { findEntries } from "./scripts/library/entries.ts";

// Tests see the library's sources under its public names. With BATCHWISE_DIST=1 the names resolve as they do for users,
// through node_modules to the built packages (run `npm run build` first).
const alias =
  process.env.BATCHWISE_DIST === "1"
    ? []
    : findEntries().map(({ specifier, source }) => ({ find: new RegExp(`^${specifier}$`), replacement: source }));

/** Run in threads: vitest refuses to fake process.nextTick in a child process. */
const inThreads = ["packages/batchwise/test/core/fake-timers.test.ts"];
const integration = ["packages/*/test/integration/**/*.test.ts", "packages/*/test/house/**/*.test.ts"];

export default defineConfig({
  resolve: { alias },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["packages/*/test/**/*.test.ts", "bench/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...integration, ...inThreads],
          testTimeout: 30_000,
        },
      },
      { extends: true, test: { name: "threads", include: inThreads, pool: "threads" } },
      {
        extends: true,
        test: {
          name: "integration",
          globalSetup: "packages/batchwise/test/integration/services/global-setup.ts",
          include: integration,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
