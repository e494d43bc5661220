// JSON whose whole numbers keep all digits. JavaScript rounds those above 2^53, and conversions
// write parsed objects as texts, for example tool call arguments: such a text is the object's
// source.

/** Numbers can change only if this matches; most texts need no second look. */
const SUSPECT = /\d{16}|\d[eE]\+?\d{3}/;
/** Strings first, so that no number is found inside one. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]|-?\d[\d.eE+-]*/gs;
const WHOLE = /^-?\d+$/;

/** Source texts of parsed objects and lists with a number that JavaScript changed. */
const sources = new WeakMap<object, string>();

/** Like `JSON.parse`, with the same errors. `jsonText` of a value in it returns its source. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (SUSPECT.test(text)) keepSources(value, text);
  return value;
}

/**
 * Like `JSON.stringify`, but returns the source text for an object or list whose numbers
 * `parseJson` could not keep exactly.
 */
export function jsonText(value: unknown): string {
  const source = typeof value === "object" && value !== null ? sources.get(value) : undefined;
  return source ?? JSON.stringify(value);
}

/**
 * The first number of a JSON text that JavaScript changes: a whole number that it rounds, or one
 * that becomes infinite.
 */
export function changedNumber(text: string): string | null {
  if (!SUSPECT.test(text)) return null;
  for (const [token] of text.matchAll(TOKEN)) if (isChanged(token)) return token;
  return null;
}

/** The walk's position in an object or list. */
interface Level {
  readonly value: unknown;
  readonly start: number;
  readonly isList: boolean;
  at: string | number;
  isKeyNext: boolean;
  hasChanged: boolean;
}

function keepSources(root: unknown, text: string): void {
  const levels: Level[] = [];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (token === "{" || token === "[") {
      const isList = token === "[";
      const value = level === undefined ? root : childOf(level);
      levels.push({ value, start: index, isList, at: isList ? 0 : "", isKeyNext: !isList, hasChanged: false });
    } else if (level === undefined) {
      return;
    } else if (token === "}" || token === "]") {
      levels.pop();
      keep(level, text.slice(level.start, index + 1), levels.at(-1));
    } else {
      step(level, token);
    }
  }
}

/** Handles a comma, a colon, or a primitive value. */
function step(level: Level, token: string): void {
  if (token === ",") {
    if (level.isList) level.at = Number(level.at) + 1;
    level.isKeyNext = !level.isList;
  } else if (token.startsWith('"')) {
    if (level.isKeyNext) level.at = JSON.parse(token) as string;
    level.isKeyNext = false;
  } else if (isChanged(token)) {
    level.hasChanged = true;
  }
}

function keep({ value, hasChanged }: Level, source: string, parent: Level | undefined): void {
  if (hasChanged && parent !== undefined) parent.hasChanged = true;
  if (typeof value !== "object" || value === null) return;
  // A later value of the same name overwrites the earlier one.
  if (hasChanged) sources.set(value, source);
  else sources.delete(value);
}

function childOf({ value, at }: Level): unknown {
  return typeof value === "object" && value !== null ? (value as { readonly [name: string]: unknown })[at] : undefined;
}

function isChanged(token: string): boolean {
  if (!/^-?\d/.test(token)) return false;
  const value = Number(token);
  if (!Number.isFinite(value)) return true;
  return WHOLE.test(token) && !Number.isSafeInteger(value) && BigInt(value) !== BigInt(token);
}
