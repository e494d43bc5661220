import { expect, test } from "vitest";
import { filesMatching, textOf } from "../repository.ts";
import { rowsIn } from "./references.ts";

const page = textOf("docs/troubleshooting.md");

const SOURCES = [
  "packages/batchwise/src/core/contract/errors.ts",
  "packages/batchwise/src/dispatch/contract/errors.ts",
  "packages/batchwise/src/onnx/errors.ts",
  "packages/batchwise/src/threads/errors.ts",
];

/** The members of the unions that are named `…ErrorCode`. */
function codesIn(text: string): string[] {
  const unions = text.matchAll(/type \w*ErrorCode =(?<members>[^;]+);/g);
  return [...unions].flatMap(({ groups }) =>
    [...(groups?.members ?? "").matchAll(/"(\w+)"/g)].map(([, code]) => code ?? ""),
  );
}

test("the page on troubleshooting has a row for every error code", () => {
  const codes = SOURCES.flatMap((source) => codesIn(textOf(source)));
  expect(codes.length).toBeGreaterThan(30);
  const rows = rowsIn(page).flatMap(([first = ""]) => [...first.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => code));
  expect(codes.filter((code) => !rows.includes(code))).toEqual([]);
});

test("the page on troubleshooting names codes of the HTTP service that it gives", () => {
  const sources = filesMatching("packages/server/src/http/**/*.ts").map(textOf);
  const named = rowsIn(page).flatMap(([first = ""]) =>
    [...first.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code ?? ""),
  );
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((code) => !sources.some((text) => text.includes(`"${code}"`)))).toEqual([]);
});
