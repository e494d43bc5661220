import { expect, test } from "vitest";
import { docstringSnippetsIn } from "../docs/snippets.ts";
import { publicNames } from "../public-names.ts";

const names = publicNames();

test("every entry of the package has public names", () => {
  const entries = new Set(names.map(({ entry }) => entry));
  expect(entries.size).toBeGreaterThan(10);
});

test("each public name has a docstring", () => {
  expect(names.filter(({ docstring }) => docstring === "").map(({ entry, name }) => `${entry} ${name}`)).toEqual([]);
});

test("each public function and class has an example", () => {
  const without = names.filter(({ kind, docstring }) => kind !== "other" && !docstring.includes("@example"));
  expect(without.map(({ entry, name }) => `${entry} ${name}`)).toEqual([]);
});

test("an example is found in its docstring, without the stars", () => {
  const text = "/**\n * Adds.\n *\n * @example\n * ```ts\n * add(1);\n *\n * add(2);\n * ```\n */\n";
  expect(docstringSnippetsIn("src/add.ts", text)).toEqual([
    { name: "src-add-5.ts", code: "add(1);\n\nadd(2);\n", runs: false },
  ]);
});
