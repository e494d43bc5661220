// The OpenAI-shaped services as records: what differs between them is data, not code. Figures are
// the documented defaults; every one can be overridden with `limits` or a record of the user's own.

import type { Capabilities, ProviderLimits } from "../../contract/account.ts";
import type { Endpoint } from "../../contract/types.ts";

/** An OpenAI-shaped service. Start from one of `openaiServices` and change what differs. */
export interface OpenAiService {
  readonly capabilities: Capabilities;
  /** `purpose` of an uploaded input file. */
  readonly filePurpose: string;
  /** The default of the account's option of this name. */
  readonly completionWindow: string;
  /**
   * The shortest that the option `completionWindow` may be: 1 for a service that takes "1h".
   * Default 24.
   */
  readonly shortestWindowHours?: number;
  /** The longest that the option `completionWindow` may be. Default 24. */
  readonly longestWindowHours?: number;
  /** Most inputs of one embeddings request. */
  readonly maxInputs: number;
  /** The default of the account's option `pollMs`. Default 30_000. */
  readonly pollMs?: number;
  /**
   * How endpoints are written in lines and creates, where the service writes them another way:
   * Azure's older samples have "/chat/completions" for "/v1/chat/completions". Default: as the
   * endpoint.
   */
  readonly urls?: Readonly<Record<string, string>>;
  /**
   * What `method` says in the lines of an endpoint, where it is not "POST": Together has "FILE" for
   * audio.
   */
  readonly methods?: Readonly<Record<string, string>>;
  /**
   * The field of an audio request that holds the address of the audio. Default: "url" or "file", as
   * the body has it.
   */
  readonly audioField?: "url" | "file";
  /**
   * Where files are uploaded as a form with `purpose`, `file_name`, `file_type` and `file`, below
   * the client's `baseURL`; an answer that redirects is followed by a PUT of the file. Default: by
   * the client's `files.create`.
   */
  readonly uploadPath?: string;
  /**
   * True where a create is refused until the service has processed its file: `status` of the file
   * is asked for until it says so. Default false.
   */
  readonly processesFiles?: boolean;
}

/** A service of OpenAI's shape that has a record here. */
export type OpenAiServiceName = "openai" | "azure" | "groq" | "together";

const LIMITS: ProviderLimits = {
  maxRequests: 50_000,
  maxBytes: 200_000_000,
  maxTokens: Number.POSITIVE_INFINITY,
  minRequests: 1,
  maxEnqueuedTokens: Number.POSITIVE_INFINITY,
  maxEnqueuedRequests: Number.POSITIVE_INFINITY,
  maxEnqueuedBatches: Number.POSITIVE_INFINITY,
};

/** "Any array must be 2048 dimensions or less", in the words of the client's types. */
const MAX_INPUTS = 2_048;

const CHAT: readonly Endpoint[] = ["/v1/chat/completions"];
/** As groq-sdk 1.6 and together-ai 0.52 list them in their types. */
const AUDIO: readonly Endpoint[] = ["/v1/audio/transcriptions", "/v1/audio/translations"];
/** As `BatchCreateParams.endpoint` of openai 6.49 lists them. */
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
 * The enqueued limits of OpenAI depend on the organisation's tier: they are learned from refusals
 * unless given.
 */
export const openaiServices: Readonly<Record<OpenAiServiceName, OpenAiService>> = {
  openai: { ...common, capabilities: openai },
  /**
   * "At least 60 seconds" between polls, by Microsoft's how-to of 2025. That page says of
   * embeddings that batches do not take them, a later reference that they do: the account's option
   * `endpoints` turns them on.
   */
  azure: {
    ...common,
    capabilities: { ...openai, provider: "azure", endpoints: CHAT, limits: { ...LIMITS, maxRequests: 100_000 } },
    pollMs: 60_000,
    processesFiles: true,
  },
  /**
   * 100 MB and "24h to 7d", by the types of groq-sdk 1.6; audio by its `url`
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
   * No metadata comes back: a batch is found again by the file that only it was made from. Uploads:
   * docs.together.ai, "Upload a file"; its SDKs follow a redirect to a storage. Lines of audio say
   * "FILE", so that the worker fetches `file` and sends it as a form
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
};
