/**
 * Loaded with `node --import` into processes that tests start from the sources: resolves the
 * library's public names to its sources, as the test runner does in its own process.
 */

import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { findEntries } from "../../../../scripts/library/entries.ts";

const sources = new Map(findEntries().map(({ specifier, source }) => [specifier, pathToFileURL(source).href]));

registerHooks({
  resolve: (specifier, context, next) => next(sources.get(specifier) ?? specifier, context),
});
