import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

// Tests see the library's sources under its public names: each entry of its package.json, with src/*.ts in place of
// dist/*.js. With BATCHWISE_DIST=1 the names resolve as they do for users, through node_modules to the built packages
// (run `npm run build` first).
const library = new URL("./packages/batchwise/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("package.json", library), "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly import: { readonly default: string } }>>;
};
const entries = Object.entries(manifest.exports).flatMap(([name, entry]) =>
  typeof entry === "string" ? [] : [{ name: name.slice(1), source: sourceOf(entry.import.default) }],
);
const alias =
  process.env.BATCHWISE_DIST === "1"
    ? []
    : entries.map(({ name, source }) => ({ find: new RegExp(`^batchwise${name}$`), replacement: source }));

function sourceOf(built: string): string {
  return new URL(built.replace("./dist/", "src/").replace(/\.js$/, ".ts"), library).pathname;
}

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
