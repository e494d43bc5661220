// Records of OpenAI-compatible services: their differences are data, not code. Limits are the
// documented defaults; `limits` or a record of your own overrides each.

import type { Capabilities, ProviderLimits } from "../../contract/capabilities.ts";
import type { Endpoint } from "../../contract/types.ts";
import { UNLIMITED } from "../shapes/unlimited.ts";

/**
 * An OpenAI-compatible service. Start from one of `openaiServices` and change the fields that
 * differ.
 */
export interface OpenAiService {
  readonly capabilities: Capabilities;
  /** `purpose` of an uploaded input file. */
  readonly filePurpose: string;
  /** Default of the account's option `completionWindow`. */
  readonly completionWindow: string;
  /**
   * Shortest `completionWindow` that the option accepts: 1 for a service that takes "1h". Default
   * 24.
   */
  readonly shortestWindowHours?: number;
  /** Longest `completionWindow` that the option accepts. Default 24. */
  readonly longestWindowHours?: number;
  /** Maximum inputs of one embeddings request. */
  readonly maxInputs: number;
  /** The default of the account's option `pollMs`. Default 30_000. */
  readonly pollMs?: number;
  /**
   * Spelling of endpoints in lines and creates if it differs: Azure's older samples have
   * "/chat/completions" for "/v1/chat/completions". Default: the endpoint.
   */
  readonly urls?: Readonly<Record<string, string>>;
  /** `method` in the lines of an endpoint if it is not "POST": Together uses "FILE" for audio. */
  readonly methods?: Readonly<Record<string, string>>;
  /**
   * The field of an audio request with the audio's address. Default: "url" or "file", as the body
   * has it.
   */
  readonly audioField?: "url" | "file";
  /**
   * Path below the client's `baseURL` for uploads as a form with `purpose`, `file_name`,
   * `file_type` and `file`. If the answer redirects, the file is sent by PUT. Default: uploads use
   * the client's `files.create`.
   */
  readonly uploadPath?: string;
  /**
   * True if a create is refused until the service has processed its file. The account then polls
   * the file's `status` first. Default false.
   */
  readonly processesFiles?: boolean;
  /**
   * By endpoint, the fields of a body that stay in its line, for a service that takes the model
   * and its parameters once a batch: the others go with the create as `request_params`, requests
   * share a batch only if they agree in them, and lines have no `method` and `url`. Default: none.
   */
  readonly lineFields?: Readonly<Record<string, readonly string[]>>;
}

/** A service with a record here. */
export type OpenAiServiceName =
  | "openai"
  | "azure"
  | "groq"
  | "together"
  | "doubleword"
  | "dashscope"
  | "deepinfra"
  | "novita"
  | "siliconflow";

const LIMITS: ProviderLimits = {
  ...UNLIMITED,
  maxRequests: 50_000,
  maxBytes: 200_000_000,
};

/** "Any array must be 2048 dimensions or less", from the client's types. */
const MAX_INPUTS = 2_048;

const CHAT: readonly Endpoint[] = ["/v1/chat/completions"];
/** From the types of groq-sdk 1.6 and together-ai 0.52. */
const AUDIO: readonly Endpoint[] = ["/v1/audio/transcriptions", "/v1/audio/translations"];
/** From `BatchCreateParams.endpoint` of openai 6.49. */
const OPENAI: readonly Endpoint[] = [
  ...CHAT,
  "/v1/embeddings",
  "/v1/responses",
  "/v1/completions",
  "/v1/moderations",
  "/v1/images/generations",
  "/v1/images/edits",
  "/v1/videos",
];

const openai: Capabilities = {
  provider: "openai",
  endpoints: OPENAI,
  maxInlineBytes: 0,
  tag: "metadata",
  list: { paged: true, pageSize: 100, newestFirst: true },
  listsFiles: true,
  ledgerScope: "model",
  limits: { ...LIMITS, maxCreatesPerHour: 2_000, maxInputs: 50_000 },
};

const unpaged = { paged: false, pageSize: 100, newestFirst: false };

const common = { filePurpose: "batch", completionWindow: "24h", maxInputs: MAX_INPUTS };

/**
 * OpenAI's limits of enqueued tokens depend on the organisation's tier. They are learned from
 * refusals unless given.
 */
export const openaiServices: Readonly<Record<OpenAiServiceName, OpenAiService>> = {
  openai: { ...common, capabilities: { ...openai, jsonSchemas: "any" } },
  /**
   * "At least 60 seconds" between polls, from Microsoft's how-to of 2025. That page covers only
   * chats and excludes embeddings. The later REST reference ("Create a batch",
   * learn.microsoft.com/azure/foundry/reference/rest/batches-create-batch) lists all endpoints of
   * OpenAI, with OpenAI's limit of 50,000 embedding inputs: turn them on with the account's option
   * `endpoints`.
   */
  azure: {
    ...common,
    capabilities: {
      ...{ ...openai, provider: "azure", endpoints: CHAT, jsonSchemas: "any" },
      limits: { ...LIMITS, maxRequests: 100_000, maxInputs: 50_000 },
    },
    pollMs: 60_000,
    processesFiles: true,
  },
  /**
   * 100 MB and "24h to 7d", from the types of groq-sdk 1.6; audio by its `url`
   * (console.groq.com/docs/batch).
   */
  groq: {
    ...common,
    capabilities: {
      ...openai,
      provider: "groq",
      endpoints: [...CHAT, ...AUDIO],
      list: unpaged,
      limits: { ...LIMITS, maxBytes: 100_000_000 },
    },
    longestWindowHours: 7 * 24,
    audioField: "url",
  },
  /**
   * Metadata is not returned: a batch is found by its input file, which no other batch uses.
   * Uploads: docs.together.ai, "Upload a file"; its SDKs follow a redirect to a storage. Lines of
   * audio have the method "FILE", so that the worker fetches `file` and sends it as a form
   * (docs.together.ai/docs/inference/batch/tutorial, and its OpenAPI file).
   */
  together: {
    ...common,
    capabilities: {
      ...openai,
      provider: "together",
      endpoints: [...CHAT, ...AUDIO],
      tag: "inputFile",
      list: unpaged,
      limits: { ...LIMITS, maxBytes: 100_000_000, maxEnqueuedTokens: 30_000_000_000 },
    },
    filePurpose: "batch-api",
    uploadPath: "/files/upload",
    methods: { "/v1/audio/transcriptions": "FILE", "/v1/audio/translations": "FILE" },
    audioField: "file",
  },
  /**
   * "1h" besides "24h", from the README of autobatcher 0.12. Its other models: by the account's
   * option `endpoints`.
   */
  doubleword: { ...common, capabilities: compatible("doubleword", {}), shortestWindowHours: 1 },
  /**
   * "OpenAI compatible - Batch (file input)", 50,000 requests, 500 MB, "24h" to "336h", chat and
   * embeddings: www.alibabacloud.com/help/en/model-studio/batch-interfaces-compatible-with-openai.
   */
  dashscope: {
    ...common,
    capabilities: {
      ...compatible("dashscope", { maxBytes: 500_000_000 }),
      endpoints: [...CHAT, "/v1/embeddings"],
    },
    longestWindowHours: 14 * 24,
  },
  /** deepinfra.com, "Introducing the Batch API": chat and embeddings, within 24 hours. */
  deepinfra: { ...common, capabilities: { ...compatible("deepinfra", {}), endpoints: [...CHAT, "/v1/embeddings"] } },
  /**
   * novita.ai/docs/guides/llm-batch-api: "24h" only, states in capitals, PROGRESS for
   * "in_progress".
   */
  novita: { ...common, capabilities: { ...compatible("novita", {}), endpoints: [...CHAT, "/v1/completions"] } },
  /** docs.siliconflow.cn, "Batch": 5,000 lines and 1 GB a file. */
  siliconflow: { ...common, capabilities: compatible("siliconflow", { maxRequests: 5_000, maxBytes: 1_000_000_000 }) },
};

/**
 * A service that says that it is compatible with OpenAI's Batch API, and names no limit on creates
 * or inputs.
 */
function compatible(provider: string, limits: Partial<ProviderLimits>): Capabilities {
  return { ...openai, provider, endpoints: CHAT, limits: { ...LIMITS, ...limits } };
}
