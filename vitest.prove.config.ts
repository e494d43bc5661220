// `npm run prove`: what takes more than a minute, a quiet machine, a million rows or a browser, and
// all cases of the tests of which `npm test` runs some. One file at a time.

import { defineConfig } from "vitest/config";
import { ofSomeCases } from "./scripts/test-files.ts";
import config from "./vitest.config.ts";

const afterTests = "scripts/run-after-tests.ts";
const services = "packages/batchwise/test/integration/services/global-setup.ts";

export default defineConfig({
  resolve: config.resolve ?? {},
  test: {
    env: config.test?.env ?? {},
    expect: config.test?.expect ?? {},
    projects: [
      {
        extends: true,
        test: {
          name: "prove",
          setupFiles: [afterTests],
          include: ["{packages,compat}/*/prove/**/*.test.ts"],
          globalSetup: services,
          testTimeout: 1_800_000,
          hookTimeout: 300_000,
          maxWorkers: 1,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: "all-cases",
          setupFiles: [afterTests],
          include: ofSomeCases,
          env: { BATCHWISE_ALL_CASES: "1" },
          globalSetup: services,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
