// Finds the tests that a Markdown page names, and the titles in a test file. A page names a test as
// `core/waits` › a full batch goes at once: the file below packages/batchwise/test (`prove/...`
// beside it, `server/...` below packages/server/test, `compat/runtimes/...` below
// compat/runtimes/test) without its ending, and the test's title, with or without those of its
// `describe`s.

import { existsSync } from "node:fs";
import { type CallExpression, type Expression, Visitor } from "oxc-parser";
import { parse, root, textOf } from "../repository.ts";

export interface Reference {
  readonly file: string;
  readonly title: string;
}

export function referencesIn(markdown: string): Reference[] {
  const found = markdown.matchAll(/`(?<file>[\w/-]+)` › (?<title>.+?)(?=; `[\w/-]+` ›| *\| *$|$)/gm);
  return [...found].map(({ groups }) => ({ file: pathOf(groups?.file ?? ""), title: groups?.title ?? "" }));
}

function pathOf(name: string): string {
  const [room = "", ...rest] = name.split("/");
  if (room === "server") return `packages/server/test/${rest.join("/")}.test.ts`;
  if (room === "prove") return `packages/batchwise/${name}.test.ts`;
  if (room === "compat") return `compat/${rest[0]}/test/${rest.slice(1).join("/")}.test.ts`;
  return `packages/batchwise/test/${name}.test.ts`;
}

/** The cells of every table row of a page, except head rows. */
export function rowsIn(markdown: string): string[][] {
  const lines = markdown.split("\n");
  return lines
    .filter((line, index) => line.startsWith("| ") && !(lines[index + 1] ?? "").startsWith("|---"))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

/** Every title in a test file, with and without those of the `describe`s around it. */
export function titlesIn(path: string, text: string): Set<string> {
  const titles = new Set<string>();
  const suites: string[] = [];
  new Visitor({
    CallExpression: (node) => {
      const title = titleOf(node);
      if (title === undefined) return;
      if (isCallOf("describe", node)) suites.push(title);
      if (!isCallOf("test", node)) return;
      titles.add(title);
      for (let from = 0; from < suites.length; from += 1) titles.add([...suites.slice(from), title].join(" "));
    },
    "CallExpression:exit": (node) => {
      if (isCallOf("describe", node) && titleOf(node) !== undefined) suites.pop();
    },
  }).visit(parse(path, text));
  return titles;
}

/** The references whose file or title does not exist. */
export function missingOf(references: readonly Reference[]): Reference[] {
  const titles = new Map<string, Set<string>>();
  return references.filter(({ file, title }) => {
    if (!titles.has(file)) titles.set(file, existsSync(root + file) ? titlesIn(file, textOf(file)) : new Set());
    return !titles.get(file)?.has(title);
  });
}

/** In a title that is composed of parts, `…` replaces each part. */
function titleOf({ arguments: [first] }: CallExpression): string | undefined {
  if (first?.type === "TemplateLiteral") return first.quasis.map(({ value }) => value.cooked ?? "").join("…");
  return first?.type === "Literal" && typeof first.value === "string" ? first.value : undefined;
}

/** True for `name(...)`, `name.each(...)(...)` and other calls that begin with `name`. */
function isCallOf(name: string, node: CallExpression): boolean {
  let callee: Expression = node.callee;
  while (callee.type !== "Identifier") {
    if (callee.type === "MemberExpression") callee = callee.object as Expression;
    else if (callee.type === "CallExpression") callee = callee.callee;
    else return false;
  }
  return callee.name === name;
}
