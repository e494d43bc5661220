/**
 * Refuses paths that a gateway may read as another path than this server does: its rules would be
 * checked on one, and the other would be answered.
 *
 * Guarantees: the path that is taken is the path that was sent. Only the name of a model may have
 * encoded characters, a slash among them, because clients encode names.
 */

const MODELS = "/v1/models/";

/** URLs turn one into a slash, and end the path at the other. */
const NOT_IN_A_PATH = /[\\#]/;

/**
 * Undefined where the request's target is a plain path with or without a query; else what is wrong
 * with it.
 */
export function pathFault(target: string): string | undefined {
  if (!target.startsWith("/")) return "the target is no path that begins with /";
  const [path = ""] = target.split("?", 1);
  const name = path.startsWith(MODELS) ? path.slice(MODELS.length) : "";
  if (path.slice(0, path.length - name.length).includes("%")) return "the path has encoded characters";
  const decoded = fullyDecoded(name);
  if (decoded === undefined) return "the path has % in it that is no encoded character";
  if (NOT_IN_A_PATH.test(path + decoded)) return "the path has a backslash or #";
  const segments = `${path}/${decoded}`.split("/");
  return segments.some((segment) => segment === "." || segment === "..") ? "the path has . or .. in it" : undefined;
}

/** Each server on the way may decode once; more of them than this do not stand in a row. */
const MOST_DECODINGS = 4;

/** Undefined for what does not decode, or only after more turns than there can be servers. */
function fullyDecoded(text: string): string | undefined {
  let decoded = text;
  for (let turn = 0; turn < MOST_DECODINGS && decoded.includes("%"); turn += 1) {
    try {
      decoded = decodeURIComponent(decoded);
    } catch {
      return undefined;
    }
  }
  return decoded.includes("%") ? undefined : decoded;
}
