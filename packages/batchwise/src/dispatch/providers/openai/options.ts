// Checks and fills in the options of an account at OpenAI or a compatible service, once. Checks the
// client's shape, so that a wrong one is refused at creation and not at its first call.

import { aFunction, aString, check, invalidOption, objectWith, oneOf } from "../../../core/contract/validate.ts";
import type { AccountOptions, BatchInput, BatchName, CallOptions } from "../../contract/account.ts";
import type { Capabilities } from "../../contract/capabilities.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { checkIsClient, checkMethods, checkSdkVersion, type SdkNeed } from "../shapes/sdk/sdk-client.ts";
import { objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { type OpenAiService, type OpenAiServiceName, openaiServices } from "./capabilities.ts";
import type { OpenAiClient } from "./client.ts";
import { type Extras, resolveExtras } from "./extras.ts";
import { inOpenAiShape, isTogether, type TogetherClient } from "./together-client.ts";
import { type Upload, type UploadFacts, uploadFile, uploadForm } from "./uploads.ts";

const SDK: SdkNeed = { package: "openai", least: 5, why: "which takes no file that streams and has no files.delete" };
const HOUR_MS = 3_600_000;
const OWN = ["client", "service", "endpoints", "completionWindow", "createExtras", "uploadExtras", "upload"];
const DAY_HOURS = 24;

/** Options of `openaiAccount`. */
export interface OpenAiAccountOptions extends AccountOptions {
  /**
   * `new OpenAI()` or `new AzureOpenAI()` of `openai` 5 or later, or one with the `baseURL` of
   * another service. With `service: "together"` also `new Together()` of `together-ai`.
   */
  readonly client: OpenAiClient | TogetherClient;
  /** The client's service: a name, or a record of your own. Default "openai". */
  readonly service?: OpenAiServiceName | OpenAiService;
  /** Batch endpoints of the service, in place of the record's. */
  readonly endpoints?: readonly Endpoint[];
  /**
   * The batch's completion window: hours or days, "24h" to "7d" at Groq. Default "24h", the only
   * one elsewhere.
   */
  readonly completionWindow?: string;
  /**
   * Fields to add to the body of each create, such as
   * `{ output_expires_after: { anchor: "created_at", seconds } }` or `metadata`, to which the
   * account adds its tag. An object, or a function of the batch. Default: none.
   */
  readonly createExtras?: Extras<BatchName>;
  /**
   * Fields to add to each upload, such as `{ expires_after: { anchor: "created_at", seconds } }`.
   * Default: none.
   */
  readonly uploadExtras?: Extras<UploadFacts>;
  /**
   * Uploads in place of the account: returns the id that the create names as its input file. May be
   * called again for the same batch; `input.lines()` yields the same lines each time. Default: the
   * service's upload.
   */
  readonly upload?: (input: BatchInput, call: CallOptions) => Promise<{ readonly fileId: string }>;
}

/** The options with all defaults filled in. */
export interface OpenAiSettings {
  readonly client: OpenAiClient;
  /** The user's client. `client` is the same in OpenAI's shape. */
  readonly own: OpenAiClient | TogetherClient;
  readonly service: OpenAiService;
  readonly settings: AccountSettings;
  readonly completionWindow: string;
  readonly createExtras: (batch: BatchName) => JsonObject;
  readonly upload: Upload;
}

export function resolveOpenAiOptions(options: OpenAiAccountOptions): OpenAiSettings {
  check("options", objectWith(), options);
  const { service: named = "openai", upload } = options;
  const service = typeof named === "string" ? serviceOf(named) : named;
  const client = clientOf(options.client, service);
  const { capabilities, pollMs } = service;
  const { endpoints = capabilities.endpoints } = options;
  for (const endpoint of endpoints) check("endpoints", aString, endpoint);
  const given = pollMs === undefined ? options : { pollMs, ...options };
  const completionWindow = windowOf(options.completionWindow ?? service.completionWindow, service);
  const settings = resolveAccountOptions(given, OWN, {
    ...capabilities,
    endpoints: Object.freeze([...endpoints]),
    ...windowMsOf(
      completionWindow,
      options.completionWindow === undefined ? capabilities.completionWindowMs : undefined,
    ),
  });
  const shared = service.lineFields === undefined ? [] : ["request_params"];
  const reserved = ["input_file_id", "endpoint", "completion_window", ...shared];
  return {
    client,
    own: options.client,
    service,
    settings,
    completionWindow,
    createExtras: resolveExtras("createExtras", options.createExtras, reserved),
    upload: upload === undefined ? uploadOf({ ...options, client, own: options.client }, service) : usersOwn(upload),
  };
}

function usersOwn(upload: Upload): Upload {
  check("upload", aFunction, upload);
  return upload;
}

function uploadOf(
  { client, own, uploadExtras }: Pick<OpenAiSettings, "client" | "own"> & Pick<OpenAiAccountOptions, "uploadExtras">,
  { uploadPath, filePurpose }: OpenAiService,
): Upload {
  const reserved = ["file", "purpose", ...(uploadPath === undefined ? [] : ["file_name", "file_type"])];
  const upload = { client, own, purpose: filePurpose, extrasOf: resolveExtras("uploadExtras", uploadExtras, reserved) };
  if (uploadPath === undefined) return uploadFile(upload);
  checkMethods("client", client, ["post"]);
  return uploadForm(upload, uploadPath);
}

/** The client in OpenAI's shape. */
function clientOf(client: OpenAiClient | TogetherClient, { uploadPath }: OpenAiService): OpenAiClient {
  checkIsClient(client);
  if (!isTogether(client)) {
    checkClient(client);
    return client;
  }
  checkMethods("client.files", client.files, ["content", "list", "delete"]);
  checkMethods("client.batches", client.batches, ["create", "retrieve", "list", "cancel"]);
  if (uploadPath !== undefined) return inOpenAiShape(client);
  throw invalidOption(TypeError, 'Expected `service` to be "together" for a client of together-ai');
}

function checkClient(client: OpenAiClient): void {
  checkIsClient(client);
  check("client.files", objectWith(), client.files);
  check("client.batches", objectWith(), client.batches);
  checkSdkVersion(client, SDK);
  checkMethods("client.files", client.files, ["create", "content", "list", "delete"]);
  checkMethods("client.batches", client.batches, ["create", "retrieve", "list", "cancel"]);
  const deployment = text(objectOf(client).deploymentName);
  if (deployment === null) return;
  // With `deployment`, the SDK adds "/deployments/<name>" to the create's path, where Azure has no
  // batches.
  const wanted = "Expected `client` to be an AzureOpenAI without `deployment`: batches name it in `body.model`";
  throw invalidOption(TypeError, `${wanted}; got one with the deployment "${deployment}"`);
}

function serviceOf(name: OpenAiServiceName): OpenAiService {
  check("service", oneOf(...Object.keys(openaiServices)), name);
  const service = openaiServices[name];
  if (service === undefined) throw invalidOption(RangeError, `There is no service "${name}"`);
  return service;
}

function shown(hours: number): string {
  return hours > DAY_HOURS ? `${hours / DAY_HOURS}d` : `${hours}h`;
}

/** Hours in a text such as "24h" or "7d"; NaN for any other text. */
function hoursOf(window: string): number {
  const [, figure, unit] = /^(\d+)([hd])$/.exec(window) ?? [];
  return Number(figure) * (unit === "d" ? 24 : 1);
}

/**
 * `known`: the window of the service's record, if it has one. Empty for a window that names no
 * hours.
 */
function windowMsOf(window: string, known: number | undefined): Pick<Capabilities, "completionWindowMs"> {
  const ms = known ?? hoursOf(window) * HOUR_MS;
  return Number.isNaN(ms) ? {} : { completionWindowMs: ms };
}

/** The window, if the service supports it: its default, or hours or days within its range. */
function windowOf(window: string, service: OpenAiService): string {
  const {
    completionWindow,
    shortestWindowHours: shortest = DAY_HOURS,
    longestWindowHours: longest = DAY_HOURS,
  } = service;
  const hours = hoursOf(window);
  if (window === completionWindow || (hours >= shortest && hours <= longest)) return window;
  const wanted = longest > shortest ? `between "${shortest}h" and "${shown(longest)}"` : `"${completionWindow}"`;
  check("completionWindow", { expected: wanted, type: "string", test: () => false }, window);
  return window;
}
