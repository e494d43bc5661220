// Runs the worlds of many seeds on the sources and prints each one that breaks a promise, with the
// checks that found it. `node run-seeds.ts [first] [last]`; exits with 1 if a world fails.

import { registerHooks } from "node:module";

registerHooks({
  resolve: (specifier, context, next) => {
    const [name, ...path] = specifier.split("/");
    if (name !== "batchwise") return next(specifier, context);
    return next(new URL(["../../src", ...path, "index.ts"].join("/"), import.meta.url).href, context);
  },
});

const { runWorld } = await import("./run-world.ts");

const [first = 1, last = 2_000] = process.argv.slice(2).map(Number);
const byCheck = new Map<string, number>();
let failed = 0;
for (let seed = first; seed <= last; seed += 1) {
  const violations = await runWorld(seed);
  const [violation] = violations;
  if (violation === undefined) continue;
  failed += 1;
  byCheck.set(violation.check, (byCheck.get(violation.check) ?? 0) + 1);
  console.log(`${seed} ${violation.check}: ${violation.detail}`);
}
console.log(`${failed} of ${last - first + 1} worlds fail.`, Object.fromEntries(byCheck));
if (failed > 0) process.exitCode = 1;
