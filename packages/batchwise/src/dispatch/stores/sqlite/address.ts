// Interprets the `path` of a store as SQLite does: a file name, `:memory:`, or a `file:` URI. Pure.

const PARTS = /^file:(?:\/\/(?:localhost)?(?=\/))?([^?#]*)(?:\?([^#]*))?/;
const MAKES_NONE = /(?:^|&)(?:mode=(?:ro|rw|memory)|immutable=1)(?:&|$)/;

/** The file of the path; null for a database in memory. */
export function fileOf(path: string): string | null {
  if (path === ":memory:") return null;
  if (!path.startsWith("file:")) return path;
  const { name, query } = partsOf(path);
  return name === "" || name === ":memory:" || /(?:^|&)mode=memory(?:&|$)/.test(query) ? null : decoded(name);
}

/** False if only an existing file is opened. */
export function makesFile(path: string): boolean {
  return !path.startsWith("file:") || !MAKES_NONE.test(partsOf(path).query);
}

function partsOf(uri: string): { readonly name: string; readonly query: string } {
  const [, name = "", query = ""] = PARTS.exec(uri) ?? [];
  return { name, query };
}

/** SQLite keeps invalid escapes unchanged. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
