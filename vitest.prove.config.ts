// `npm run prove`: what takes more than a minute, a quiet machine, a million rows or a browser. One
// file at a time.

import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

export default defineConfig({
  resolve: config.resolve ?? {},
  test: {
    env: config.test?.env ?? {},
    projects: [
      {
        extends: true,
        test: {
          name: "prove",
          include: ["{packages,compat}/*/prove/**/*.test.ts"],
          globalSetup: "packages/batchwise/test/integration/services/global-setup.ts",
          testTimeout: 1_800_000,
          hookTimeout: 300_000,
          maxWorkers: 1,
          fileParallelism: false,
        },
      },
    ],
  },
});
