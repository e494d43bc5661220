// The layer rules of docs/architecture.md, as pure functions over paths and import specifiers. They
// apply to every import, including type-only ones, because a type is a dependency, too.

import { posix } from "node:path";
import { Visitor } from "oxc-parser";
import { parse } from "../repository.ts";

const library = "packages/batchwise/src/";
const server = "packages/server/src/";

/**
 * The rooms, or folders of rooms, that a room may import. A room that is not listed may import
 * none.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  entry: ["core", "makers", "decorators", "tokens", "limits", "stream"],
  core: [],
  padded: ["core"],
  target: ["core"],
  makers: ["core", "padded", "target", "tokens"],
  decorators: ["core", "makers"],
  tokens: ["core", "makers"],
  limits: ["core/contract", "core/time", "redis"],
  redis: ["core/contract"],
  stream: ["core", "makers"],
  tensor: ["core", "makers"],
  onnx: ["core", "makers", "tokens", "tensor", "threads"],
  threads: ["core"],
  otel: ["core", "dispatch/contract"],
  simulate: ["core", "makers"],
  testing: ["core"],
  dispatch: ["core", "makers", "tokens", "redis"],
  "dispatch-testing": ["core", "tokens", "dispatch/contract"],
};

/** The folders of the core, from the top down: each may import itself and the folders after it. */
const coreFolders: readonly string[] = ["engine", "run", "submit", "policy", "stats", "queue", "contract", "time"];

/**
 * The folders of the dispatcher, from the top down: each may import itself and the folders after
 * it. Pure files stand beside the code that calls them, in any of these folders, and every folder
 * may import them; see `isPure`.
 */
const dispatchFolders: readonly string[] = [
  "doors",
  "jobs",
  "requests",
  "operate",
  "batches",
  "accounts",
  "runtime",
  "prices",
  "options",
  "format",
  "contract",
];

/** The folders that a pure file of the dispatcher may import, besides other pure files. */
const belowPure: readonly string[] = ["format", "contract"];

/**
 * The folders of the dispatcher that its other parts may import, besides themselves. "" is its
 * entry file and the dispatcher.
 */
const allowedInDispatch: Readonly<Record<string, readonly string[]>> = {
  "": [...dispatchFolders, "stores/memory"],
  "stores/memory": ["contract"],
  "stores/postgres": ["stores/sql", "contract"],
  "stores/redis": ["contract"],
  "stores/sql": ["contract"],
  "stores/sqlite": ["stores/sql", "contract"],
  "providers/bedrock": ["providers/shapes", "format", "contract"],
  "providers/anthropic": ["providers/shapes", "format", "contract"],
  "providers/gemini": ["providers/shapes", "format", "contract"],
  "providers/local": ["providers/shapes", "format", "contract"],
  "providers/mistral": ["providers/shapes", "format", "contract"],
  "providers/openai": ["providers/shapes", "format", "contract"],
  "providers/shapes": ["format", "contract"],
  "providers/voyage": ["providers/openai", "providers/shapes", "contract"],
  "providers/vertex": ["providers/shapes", "format", "contract"],
  "providers/xai": ["providers/openai", "providers/shapes", "format", "contract"],
  storage: ["contract"],
};

/** Rooms that run wherever JavaScript runs. */
const portable = new Set([
  "entry",
  "core",
  "padded",
  "target",
  "makers",
  "decorators",
  "tokens",
  "limits",
  "redis",
  "stream",
  "tensor",
  "testing",
  "otel",
]);

export interface Import {
  readonly from: string;
  readonly specifier: string;
}

/** Every specifier in a file: imports, re-exports, `import()` and `import("...").Type`. */
export function importsOf(path: string, text: string): string[] {
  const specifiers: string[] = [];
  const add = (source: unknown): void => {
    const value = (source as { value?: unknown } | null)?.value;
    if (typeof value === "string") specifiers.push(value);
  };
  new Visitor({
    ImportDeclaration: (node) => add(node.source),
    ExportNamedDeclaration: (node) => add(node.source),
    ExportAllDeclaration: (node) => add(node.source),
    ImportExpression: (node) => add(node.source),
    TSImportType: (node) => add(node.source),
  }).visit(parse(path, text));
  return specifiers;
}

/**
 * True for a file whose opening comment says "Pure.", or "Pure:" and of what: its results depend on
 * its arguments alone. Such a file of the dispatcher imports nothing that reads a clock, a store or
 * a provider.
 */
export function isPure(text: string): boolean {
  const head = /^(?:\/\/.*\n)+/.exec(text)?.[0] ?? "";
  return /\bPure[.:;]/.test(head);
}

/** The file of a relative specifier; undefined for a package. */
function targetOf({ from, specifier }: Import): string | undefined {
  return specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : undefined;
}

function roomOf(path: string): string {
  const [first = "", second = ""] = path.slice(library.length).split("/");
  return second === "" ? "entry" : first;
}

/** The facts that the rules need besides an import itself. */
export interface Known {
  /** The library's optional peers. */
  readonly peers?: readonly string[];
  /** The paths of pure files. */
  readonly pure?: ReadonlySet<string>;
}

/** The rule that an import breaks; undefined if it breaks none. */
export function violation(edge: Import, { peers = [], pure = new Set() }: Known = {}): string | undefined {
  const target = targetOf(edge);
  if (edge.from.startsWith(server)) {
    return target === undefined || target.startsWith(server) ? undefined : "the server reaches others by package name";
  }
  if (target === undefined) return packageViolation(edge, peers);
  const broken = roomViolation(roomOf(edge.from), target);
  if (broken !== undefined) return broken;
  if (isIn("core", edge.from) && isIn("core", target)) return coreViolation(edge.from, target);
  return isIn("dispatch", edge.from) && isIn("dispatch", target)
    ? dispatchViolation(edge.from, target, pure)
    : undefined;
}

function packageViolation({ from, specifier }: Import, peers: readonly string[]): string | undefined {
  if (specifier.startsWith("node:")) {
    return portable.has(roomOf(from)) ? `${roomOf(from)} runs everywhere and imports no node: module` : undefined;
  }
  if (specifier.startsWith("@batchwise/server")) return "nothing imports the server";
  if (/^batchwise(\/|$)/.test(specifier)) return "inside the library, imports are relative";
  return peers.includes(specifier) ? undefined : "the library depends on no package";
}

function isIn(room: string, path: string): boolean {
  return path.startsWith(`${library}${room}/`);
}

/** The folder of the core that contains a file; undefined for any other file. */
function coreFolderOf(path: string): string | undefined {
  const [room, folder, file] = path.slice(library.length).split("/");
  return room === "core" && file !== undefined ? folder : undefined;
}

function coreViolation(from: string, target: string): string | undefined {
  const [folder, other] = [coreFolderOf(from), coreFolderOf(target)];
  for (const name of [folder, other]) {
    if (name === undefined || !coreFolders.includes(name)) return `${name ?? "core itself"} is no folder of core`;
  }
  const isDown = coreFolders.indexOf(folder as string) <= coreFolders.indexOf(other as string);
  return isDown ? undefined : `core/${folder} may not import core/${other}: that is above it`;
}

/**
 * The part of the dispatcher that contains a file: a folder, or one of its stores or providers; ""
 * for none.
 */
function dispatchPartOf(path: string): string {
  const [folder = "", part = ""] = path.slice(`${library}dispatch/`.length).split("/").slice(0, -1);
  return folder === "stores" || folder === "providers" ? `${folder}/${part}` : folder;
}

function dispatchViolation(from: string, target: string, pure: ReadonlySet<string>): string | undefined {
  const [part, other] = [dispatchPartOf(from), dispatchPartOf(target)];
  const place = dispatchFolders.indexOf(part);
  if (place >= 0 && pure.has(target)) return undefined;
  if (place >= 0 && pure.has(from) && !belowPure.includes(other)) {
    return `it is pure and may not import dispatch/${other}, except its pure files`;
  }
  const below = place >= 0 ? dispatchFolders.slice(place) : allowedInDispatch[part];
  if (below === undefined) return `${part} is no folder of dispatch`;
  if (other === part || below.includes(other)) return undefined;
  return `${part === "" ? "dispatch" : `dispatch/${part}`} may not import ${other === "" ? "dispatch" : `dispatch/${other}`}`;
}

function roomViolation(room: string, target: string): string | undefined {
  if (target.startsWith(server)) return "nothing imports the server";
  if (!target.startsWith(library)) return "a source imports sources only";
  const other = roomOf(target);
  const rooms = allowed[room] ?? [];
  const folder = posix.dirname(target.slice(library.length));
  if (other === room || rooms.some((name) => `${folder}/`.startsWith(`${name}/`))) return undefined;
  const isPartOpen = rooms.some((name) => name.startsWith(`${other}/`));
  return `${room} may not import ${isPartOpen ? folder : other}`;
}

/** The first cycle of relative imports, as the list of its files; undefined if there is none. */
export function cycleIn(edges: readonly Import[]): string[] | undefined {
  const targets = new Map<string, string[]>();
  for (const edge of edges) {
    const target = targetOf(edge);
    if (target !== undefined) targets.set(edge.from, [...(targets.get(edge.from) ?? []), target]);
  }
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): string[] | undefined => {
    const start = trail.indexOf(file);
    if (start >= 0) return [...trail.slice(start), file];
    if (done.has(file)) return undefined;
    for (const next of targets.get(file) ?? []) {
      const cycle = visit(next, [...trail, file]);
      if (cycle !== undefined) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of targets.keys()) {
    const cycle = visit(file, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
