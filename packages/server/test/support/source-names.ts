/**
 * Loaded with `node --import` into processes that tests start from the sources: resolves the library's public names
 * to its sources, as the test runner does in its own process.
 */

import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== "batchwise") return next(specifier, context);
    return next(new URL("../../../batchwise/src/index.ts", import.meta.url).href, context);
  },
});
