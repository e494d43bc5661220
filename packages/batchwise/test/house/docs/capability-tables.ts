// The tables of docs/providers.md, made from the accounts' own capability records.

import { glob } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Capabilities } from "../../../src/dispatch/contract/capabilities.ts";
import { root } from "../repository.ts";

/**
 * Every record in a `capabilities.ts` of a provider: exported itself, or as the `capabilities` of
 * one of several services.
 */
async function records(): Promise<Capabilities[]> {
  const found: Capabilities[] = [];
  const folder = join(root, "packages/batchwise/src/dispatch/providers");
  for await (const file of glob("*/capabilities.ts", { cwd: folder })) {
    const module: object = await import(pathToFileURL(join(folder, file)).href);
    for (const value of Object.values(module)) found.push(...recordsIn(value));
  }
  return found.sort((a, b) => (a.provider < b.provider ? -1 : 1));
}

function recordsIn(value: unknown): Capabilities[] {
  if (typeof value !== "object" || value === null) return [];
  if ("provider" in value && "limits" in value) return [value as Capabilities];
  if ("capabilities" in value) return recordsIn(value.capabilities);
  return Object.values(value).flatMap((part) => (typeof part === "object" ? recordsIn(part) : []));
}

const FOUND_BY: Readonly<Record<Capabilities["tag"], string>> = {
  metadata: "its tag",
  inputFile: "its input file",
  idempotencyToken: "the same create again",
  none: "its size, then its results",
};

/** Both tables, as they appear between the marks of the page. */
export async function capabilityTables(): Promise<string> {
  const all = await records();
  const limits = [
    "| provider | requests | bytes | fewest | lines travel | in flight | creates an hour | found again by |",
    "|---|---|---|---|---|---|---|---|",
    ...all.map(limitsRow),
  ];
  const endpoints = [
    "| provider | endpoints of batches |",
    "|---|---|",
    ...all.map(({ provider, endpoints: some }) => `| ${provider} | ${some.map((each) => `\`${each}\``).join(", ")} |`),
  ];
  return `${limits.join("\n")}\n\n${endpoints.join("\n")}\n`;
}

function limitsRow({ provider, limits, maxInlineBytes, tag, ledgerScope }: Capabilities): string {
  const inline =
    maxInlineBytes === Number.POSITIVE_INFINITY ? "in the create" : `up to ${size(maxInlineBytes)} in the create`;
  const flight = [
    [limits.maxEnqueuedTokens, "tokens"],
    [limits.maxEnqueuedRequests, "requests"],
    [limits.maxEnqueuedBatches, "batches"],
  ] as const;
  const known = flight.filter(([most]) => Number.isFinite(most)).map(([most, what]) => `${figure(most)} ${what}`);
  const scope = ledgerScope === "model" ? "a model" : "in all";
  const cells = [
    provider,
    figure(limits.maxRequests),
    size(limits.maxBytes),
    figure(limits.minRequests),
    maxInlineBytes === 0 ? "in a file" : inline,
    known.length === 0 ? "learned" : `${known.join(", ")} ${scope}`,
    limits.maxCreatesPerHour === undefined ? "–" : figure(limits.maxCreatesPerHour),
    FOUND_BY[tag],
  ];
  return `| ${cells.join(" | ")} |`;
}

function size(bytes: number): string {
  if (bytes < 1e6) return `${figure(Math.round(bytes / 1e3))} kB`;
  return Number.isFinite(bytes) ? `${figure(Math.round(bytes / 1e6))} MB` : "any";
}

function figure(value: number): string {
  return Number.isFinite(value) ? value.toLocaleString("en") : "any";
}
