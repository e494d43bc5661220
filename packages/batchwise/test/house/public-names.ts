// The public names of the library: the exports of each entry's index, the files that declare them,
// and their docstrings.

import { posix } from "node:path";
import type { Comment, Program } from "oxc-parser";
import { parseSync } from "oxc-parser";
import { manifestOf, root, textOf } from "./repository.ts";

const FOLDER = "packages/batchwise";

export interface PublicName {
  readonly entry: string;
  readonly name: string;
  /** The file of its declaration, relative to the repository. */
  readonly file: string;
  readonly kind: "function" | "class" | "other";
  /** The text of the comment before it; "" if there is none. */
  readonly docstring: string;
}

/** The entries of the package, each with its index file. */
export function entries(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [entry, target] of Object.entries(manifestOf(FOLDER).exports)) {
    const built = builtFileOf(target);
    if (built !== undefined)
      found.set(entry, posix.join(FOLDER, built.replace("/dist/", "/src/").replace(/\.js$/, ".ts")));
  }
  return found;
}

/** The first JavaScript file below dist that an export names, under any conditions. */
function builtFileOf(target: unknown): string | undefined {
  if (typeof target === "string") return /\/dist\/.*\.js$/.test(target) ? target : undefined;
  if (typeof target !== "object" || target === null) return undefined;
  const conditions = target as Readonly<Record<string, unknown>>;
  return builtFileOf(conditions.import ?? conditions.default);
}

export function publicNames(): PublicName[] {
  return [...entries()].flatMap(([entry, index]) =>
    exportsOf(index).map(({ name, file, local }) => ({ entry, name, file, ...declarationIn(file, local) })),
  );
}

interface Export {
  readonly name: string;
  readonly file: string;
  /** Its name in the declaring file. */
  readonly local: string;
}

interface Parsed {
  readonly text: string;
  readonly program: Program;
  readonly comments: readonly Comment[];
}

const parsed = new Map<string, Parsed>();

function parsedFile(file: string): Parsed {
  const known = parsed.get(file);
  if (known !== undefined) return known;
  const text = textOf(file);
  const { program, comments } = parseSync(root + file, text);
  const made = { text, program, comments };
  parsed.set(file, made);
  return made;
}

/** The names that a file re-exports, resolved through all files in between. */
function exportsOf(file: string): Export[] {
  return parsedFile(file).program.body.flatMap((node) => {
    if (node.type !== "ExportNamedDeclaration" || node.source === null) return [];
    const source = posix.join(posix.dirname(file), node.source.value);
    return node.specifiers.map((specifier) => {
      const local = nameOf(specifier.local);
      const name = nameOf(specifier.exported);
      const further = exportsOf(source).find((other) => other.name === local);
      return further === undefined ? { name, file: source, local } : { ...further, name };
    });
  });
}

function nameOf(node: { readonly type: string; readonly name?: string; readonly value?: string }): string {
  return node.name ?? node.value ?? "";
}

function declarationIn(file: string, local: string): Pick<PublicName, "kind" | "docstring"> {
  const { program, comments, text } = parsedFile(file);
  for (const node of program.body) {
    if (node.type !== "ExportNamedDeclaration" || node.declaration === null) continue;
    const { declaration } = node;
    const names =
      declaration.type === "VariableDeclaration"
        ? declaration.declarations.map(({ id }) => (id.type === "Identifier" ? id.name : ""))
        : "id" in declaration && declaration.id?.type === "Identifier"
          ? [declaration.id.name]
          : [];
    if (!names.includes(local)) continue;
    const kinds: Readonly<Record<string, PublicName["kind"]>> = {
      FunctionDeclaration: "function",
      TSDeclareFunction: "function",
      ClassDeclaration: "class",
    };
    const before = comments.findLast(({ end }) => end <= node.start && text.slice(end, node.start).trim() === "");
    const docstring = before?.type === "Block" && before.value.startsWith("*") ? before.value : "";
    return { kind: kinds[declaration.type] ?? "other", docstring };
  }
  return { kind: "other", docstring: "" };
}
