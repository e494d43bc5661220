// Which versions of `@google/genai` fit, for the Gemini API and for Vertex AI alike.

import { invalidOption } from "../../../core/contract/validate.ts";
import { objectOf, text } from "./sdk-error.ts";

/** What clients call themselves: "google-genai-sdk/2.32.0 gl-node/v24.9.0". */
const VERSION = /google-genai-sdk\/((\d+)\.(\d+)\.\S+)/;
/** Earlier ones take the retries of a call from the client's options alone. */
const LEAST: readonly [major: number, minor: number] = [2, 15];

export const GOOGLE_CLIENT_WANTED: string = `Expected \`client\` to be a \`GoogleGenAI\` of @google/genai ${LEAST.join(".")} or later`;

/** Throws for a client that would repeat calls by itself. One that does not name its version is not judged. */
export function checkGoogleVersion(client: object): void {
  const { clientOptions } = objectOf((client as { readonly apiClient?: unknown }).apiClient);
  const headers = objectOf(objectOf(objectOf(clientOptions).httpOptions).headers);
  const [, version, major, minor] = VERSION.exec(text(headers["x-goog-api-client"]) ?? "") ?? [];
  if (version === undefined) return;
  const isOld = Number(major) < LEAST[0] || (Number(major) === LEAST[0] && Number(minor) < LEAST[1]);
  if (!isOld) return;
  const got = `got one of version ${version}, which may repeat calls that must go once`;
  throw invalidOption(TypeError, `${GOOGLE_CLIENT_WANTED}, ${got}`);
}
