// Options of an account at Vertex AI, checked and filled in once.

import { aFunction, check, finiteIntegerFrom, invalidOption, objectWith } from "../../../core/contract/validate.ts";
import type { AccountOptions } from "../../contract/account.ts";
import type { Capabilities } from "../../contract/capabilities.ts";
import type { ObjectStorage } from "../../contract/storage.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { checkIsClient, checkMethods } from "../shapes/sdk/sdk-client.ts";
import { ENDPOINTS, MOST_CLAUDE_BATCHES, MOST_TEXTS, vertexCapabilities } from "./capabilities.ts";
import type { VertexClient } from "./client.ts";
import { familyOf, publishedPath, type VertexFamily } from "./family.ts";
import type { LineOptions } from "./lines.ts";

/** Options of `vertexAccount`. */
export interface VertexAccountOptions extends AccountOptions {
  /** `new GoogleGenAI({ vertexai: true, project, location })` of `@google/genai` 2.15 or later. */
  readonly client: VertexClient;
  /** `gcsStorage(…)` in a bucket that Vertex AI may read and write. */
  readonly storage: ObjectStorage;
  /**
   * Returns a model's name in jobs, such as `publishers/meta/models/llama-3.3-70b-instruct-maas`.
   * Pure; may throw. Default: `meta/llama-…` by its publisher; Gemini, Claude, Llama, Qwen,
   * DeepSeek and gpt-oss by the beginning of the name.
   */
  readonly modelPath?: (model: string) => string;
  /**
   * The format of a model's lines. Default by publisher: Google's are `gemini`, Anthropic's
   * `claude`, all others `openai`; Google's text embeddings by name.
   */
  readonly family?: VertexFamily | ((model: string) => VertexFamily);
  /**
   * Token limit of requests to Claude that set none, because Claude requires one. Default 4_096.
   */
  readonly defaultMaxTokens?: number;
}

/** Names and families of models. */
export interface VertexModels {
  pathOf(model: string): string;
  familyOf(model: string): VertexFamily;
  readonly lines: LineOptions;
}

/** The options with all defaults filled in. */
export interface VertexSettings {
  readonly client: VertexClient;
  readonly storage: ObjectStorage;
  readonly settings: AccountSettings;
  readonly models: VertexModels;
}

/** Throws TypeError with `code: "INVALID_OPTION"` for an unknown or invalid option. */
export function resolveVertexOptions(options: VertexAccountOptions): VertexSettings {
  check("options", objectWith(), options);
  const { client, storage, family, modelPath = publishedPath, defaultMaxTokens = 4_096 } = options;
  checkIsClient(client);
  if (client.vertexai !== true) throw notVertex();
  check("client.batches", objectWith(), client.batches);
  checkMethods("client.batches", client.batches, ["create", "get", "cancel", "delete"]);
  check("storage", objectWith("put", "get", "list", "delete", "uriOf"), storage);
  if (!storage.uriOf("x").startsWith("gs://")) throw notGoogles(storage.uriOf("x"));
  check("defaultMaxTokens", finiteIntegerFrom(1), defaultMaxTokens);
  check("modelPath", aFunction, modelPath);
  checkFamily(family);
  const pathOf = modelPath;
  const familyOfModel = (model: string): VertexFamily => {
    const path = pathOf(model);
    return (typeof family === "function" ? family(model) : family) ?? familyOf(path);
  };
  const own = ["client", "storage", "modelPath", "family", "defaultMaxTokens"];
  const families = new Set(options.models?.map(familyOfModel));
  if (typeof family === "string") families.add(family);
  const settings = resolveAccountOptions(options, own, capabilitiesOf(families, family));
  const models = { pathOf, familyOf: familyOfModel, lines: { defaultMaxTokens } };
  return { client, storage, settings, models };
}

/**
 * The capabilities. An account that serves Claude or text embeddings has their limits for all
 * models.
 */
function capabilitiesOf(families: ReadonlySet<VertexFamily>, chosen: unknown): Capabilities {
  const { limits, endpoints } = vertexCapabilities;
  return {
    ...vertexCapabilities,
    endpoints: typeof chosen === "string" ? ENDPOINTS[chosen as VertexFamily] : endpoints,
    limits: {
      ...limits,
      ...(families.has("claude") ? { maxEnqueuedBatches: MOST_CLAUDE_BATCHES } : {}),
      ...(families.has("embedding") ? { maxRequests: MOST_TEXTS } : {}),
    },
  };
}

function notVertex(): Error {
  const wanted = "Expected `client` to be one of Vertex AI, made with `vertexai: true`";
  return invalidOption(TypeError, `${wanted}, got one of the Gemini API, which \`geminiAccount\` takes`);
}

function notGoogles(uri: string): Error {
  return invalidOption(TypeError, `Expected \`storage\` to be one in Cloud Storage, got one at ${uri.slice(0, -1)}`);
}

function checkFamily(family: unknown): void {
  if (family === undefined || typeof family === "function") return;
  if (typeof family === "string" && Object.hasOwn(ENDPOINTS, family)) return;
  const wanted = 'Expected `family` to be "gemini", "claude", "openai", "embedding" or a function of the model';
  throw invalidOption(TypeError, `${wanted}, got ${JSON.stringify(family)}`);
}
