/**
 * Refuses paths that a gateway may read as another path than this server does: the gateway's rules
 * would be applied to one, and this server would answer the other.
 *
 * Guarantees: an accepted path is the path that was sent. Only the name of a model may have encoded
 * characters, including a slash, because clients encode names.
 */

const MODELS = "/v1/models/";

/** URLs turn a backslash into a slash, and end the path at #. */
const NOT_IN_A_PATH = /[\\#]/;

/** Undefined if the request's target is a plain path with or without a query; else the fault. */
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

/** Each server on the way may decode once; there are never more of them in a row. */
const MOST_DECODINGS = 4;

/** Undefined for a text that does not decode, or needs more steps than `MOST_DECODINGS`. */
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
