// JSON whose whole numbers keep all of their digits. JavaScript rounds those above 2^53, and
// conversions write objects of a parsed answer as texts, as the arguments of a tool call: such a
// text is the source that the object was parsed from.

/** Without one of these no number can change: most texts are not looked at twice. */
const SUSPECT = /\d{16}|\d[eE]\+?\d{3}/;
/** Texts first, so that no number is found in one. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]|-?\d[\d.eE+-]*/gs;
const WHOLE = /^-?\d+$/;

/** The source of each parsed object and list that holds a number which JavaScript changed. */
const sources = new WeakMap<object, string>();

/**
 * As `JSON.parse`, which throws for the same; `jsonText` of what is in the value gives its source.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (SUSPECT.test(text)) keepSources(value, text);
  return value;
}

/**
 * As `JSON.stringify`; for an object or a list out of `parseJson` whose numbers changed, the text
 * it was parsed from.
 */
export function jsonText(value: unknown): string {
  const source = typeof value === "object" && value !== null ? sources.get(value) : undefined;
  return source ?? JSON.stringify(value);
}

/**
 * The first number of a JSON text that JavaScript changes: a whole number that it rounds, one that
 * is infinite.
 */
export function changedNumber(text: string): string | null {
  if (!SUSPECT.test(text)) return null;
  for (const [token] of text.matchAll(TOKEN)) if (isChanged(token)) return token;
  return null;
}

/** Where the walk is in an object or a list. */
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

/** A comma, a colon, or a value that holds no others. */
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
  // Of a name that stands twice the last counts, as in the value.
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
