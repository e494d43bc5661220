// An account at Amazon Bedrock, over the user's own `Bedrock` client and an S3 storage. The lines
// of a batch are one object; the job writes its results to objects beside it. The token of a create
// consists of key and attempt, so a repeated create returns the same job. Each operation is one
// logical call. The account keeps no state and decides nothing.

import type {
  Account,
  BatchInput,
  BatchName,
  CallOptions,
  CleanupInput,
  CreateInput,
  LineRequest,
  ListPage,
  ProviderBatch,
  ResultLine,
} from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { AccountFields } from "../shapes/account-fields.ts";
import { displayNameOf, tokenOf } from "../shapes/batch-names.ts";
import { cancelBatch } from "../shapes/cancel-batch.ts";
import { chunksOf } from "../shapes/lines/line-chunks.ts";
import { readJsonLines } from "../shapes/lines/read-lines.ts";
import { readResults } from "../shapes/lines/read-results.ts";
import { objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { CONVERSE } from "./capabilities.ts";
import { classify } from "./classify.ts";
import type { BedrockCallOptions, BedrockClient, InvocationJobRequest } from "./client.ts";
import { toProviderBatch } from "./job.ts";
import { type BedrockAccountOptions, type BedrockSettings, resolveBedrockOptions } from "./options.ts";
import { answering, toModelInput } from "./records.ts";
import { toResultLine } from "./results.ts";

/** Folders in the storage. */
const INPUTS = "inputs/";
const OUTPUTS = "outputs/";
/**
 * "manifest.json.out … contains a summary of the job" (Bedrock user guide, "View the results of a
 * batch inference job").
 */
const MANIFEST = "manifest.json.out";

/**
 * An account for the dispatcher's `accounts`: Claude, Nova, Llama and Titan's text embeddings in
 * OpenAI's format, and every model of Bedrock's batch inference in its own format (endpoints
 * `/model/invoke`, `/model/converse`, `/v1/messages`).
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`
 *
 * @example
 * ```ts
 * import { type BedrockClient, bedrockAccount } from "batchwise/dispatch/bedrock";
 * import { type S3Client, s3Storage } from "batchwise/dispatch/storage";
 * declare const client: BedrockClient; // new Bedrock({ region: "us-east-1" })
 * declare const s3: S3Client; // new S3({ region: "us-east-1" })
 * const account = bedrockAccount({
 *   client,
 *   storage: s3Storage({ client: s3, bucket: "my-batches" }),
 *   roleArn: "arn:aws:iam::123456789012:role/bedrock-batches",
 *   models: ["us.amazon.nova-lite-v1:0"],
 * });
 * ```
 */
export function bedrockAccount(options: BedrockAccountOptions): Account {
  return new BedrockAccount(resolveBedrockOptions(options));
}

class BedrockAccount extends AccountFields implements Account {
  readonly #bedrock: BedrockSettings;
  #credentials: readonly string[] = [];

  constructor(bedrock: BedrockSettings) {
    super(bedrock.settings, classify);
    this.#bedrock = bedrock;
  }

  override secrets(): readonly string[] {
    return [...super.secrets(), ...this.#credentials];
  }

  /**
   * The client after its credentials have loaded, so that they are known as secrets: a gateway's
   * error may contain the session token.
   */
  async #client(): Promise<BedrockClient> {
    const { client } = this.#bedrock;
    this.#credentials = await credentialsOf(client);
    return client;
  }

  encodeLine({ customId, endpoint, body }: LineRequest): string {
    const modelInput = toModelInput(endpoint, JSON.parse(body), this.#bedrock);
    return `${JSON.stringify({ recordId: customId, modelInput })}\n`;
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    toModelInput(endpoint, body, this.#bedrock);
  }

  async upload(input: BatchInput, call: CallOptions): Promise<{ readonly fileId: string }> {
    const { uri } = await this.#bedrock.storage.put(`${INPUTS}${input.fileName}`, chunksOf(input.lines()), call);
    return { fileId: uri };
  }

  async create(input: CreateInput, call: CallOptions): Promise<ProviderBatch> {
    const job = this.#jobOf(input);
    const { jobArn } = objectOf(await (await this.#client()).createModelInvocationJob(job, settingsOf(call)));
    if (text(jobArn) === null) return this.#jobNamed(job, call);
    return toProviderBatch({ jobArn, status: "Submitted", clientRequestToken: job.clientRequestToken });
  }

  /**
   * Finds the job of a repeated create. AWS does not document that the answer to a repeated token
   * names the job.
   */
  async #jobNamed({ jobName, clientRequestToken }: InvocationJobRequest, call: CallOptions): Promise<ProviderBatch> {
    const query = { nameContains: jobName, maxResults: 100, sortBy: "CreationTime", sortOrder: "Descending" } as const;
    const answer = await (await this.#client()).listModelInvocationJobs(query, settingsOf(call));
    const { invocationJobSummaries: jobs } = objectOf(answer);
    const found = Array.isArray(jobs)
      ? jobs.find((job) => objectOf(job).clientRequestToken === clientRequestToken)
      : null;
    return toProviderBatch(found ?? null);
  }

  #jobOf({ input, ...name }: CreateInput): InvocationJobRequest {
    if (!("fileId" in input)) throw new TypeError("Expected the address of the uploaded lines.");
    const { storage, roleArn, timeoutHours, bucketOwner, kmsKeyId, tags } = this.#bedrock;
    const owner = bucketOwner === undefined ? {} : { s3BucketOwner: bucketOwner };
    const key = kmsKeyId === undefined ? {} : { s3EncryptionKeyId: kmsKeyId };
    return {
      jobName: displayNameOf(name),
      clientRequestToken: tokenOf(name),
      roleArn,
      modelId: name.model,
      modelInvocationType: name.endpoint === CONVERSE ? "Converse" : "InvokeModel",
      inputDataConfig: { s3InputDataConfig: { s3InputFormat: "JSONL", s3Uri: input.fileId, ...owner } },
      outputDataConfig: { s3OutputDataConfig: { s3Uri: storage.uriOf(folderOf(name)), ...owner, ...key } },
      timeoutDurationInHours: timeoutHours,
      ...(tags === undefined ? {} : { tags: Object.entries(tags).map(([key, value]) => ({ key, value })) }),
    };
  }

  async list(page: { readonly cursor: string | null; readonly limit: number }, call: CallOptions): Promise<ListPage> {
    const maxResults = Math.min(page.limit, this.capabilities.list.pageSize);
    const query = { maxResults, sortBy: "CreationTime", sortOrder: "Descending" } as const;
    const from = page.cursor === null ? {} : { nextToken: page.cursor };
    const answer = await (await this.#client()).listModelInvocationJobs({ ...query, ...from }, settingsOf(call));
    const { invocationJobSummaries: jobs, nextToken } = objectOf(answer);
    return { batches: (Array.isArray(jobs) ? jobs : []).map(toProviderBatch), next: text(nextToken) };
  }

  async retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null> {
    try {
      return toProviderBatch(
        await (await this.#client()).getModelInvocationJob({ jobIdentifier: id }, settingsOf(call)),
      );
    } catch (error) {
      // The call has no other argument than the id, so a refusal means that the job does not exist.
      const { kind, code } = classify(error, "retrieve");
      if (code === "ResourceNotFoundException" || kind === "invalidRequest") return null;
      throw error;
    }
  }

  async *results(batch: ProviderBatch, call: CallOptions, name: BatchName): AsyncGenerator<ResultLine> {
    const { storage, family = null } = this.#bedrock;
    const answers = answering(name, family);
    const open = (uri: string): AsyncGenerator<JsonObject> => readJsonLines(storage.get(uri, call));
    const read = (record: JsonObject): ResultLine => toResultLine(record, batch, name, answers);
    yield* readResults(this.#outputs(batch, call), open, read);
  }

  /**
   * Yields the names of the output objects. Rejects if a job that ran some records has none: the
   * results exist but are not visible.
   */
  async *#outputs({ resultRefs, state, ran }: ProviderBatch, call: CallOptions): AsyncGenerator<string> {
    const found = await this.#written(resultRefs, ".jsonl.out", call);
    yield* found;
    if (found.length > 0 || !(state === "done" || (ran ?? 0) > 0)) return;
    throw new DispatchError("RESULTS_UNREADABLE", `There are no results below ${resultRefs.join(" and ")}.`);
  }

  async #written(folders: readonly string[], ending: string, call: CallOptions): Promise<readonly string[]> {
    const found = new Set<string>();
    for (const folder of folders) {
      for await (const { uri } of this.#bedrock.storage.list(folder, call)) if (uri.endsWith(ending)) found.add(uri);
    }
    return [...found];
  }

  /**
   * Counts from the job's manifest, which is written with its results. Answers of earlier client
   * versions have no counts.
   */
  async countRan({ resultRefs }: ProviderBatch, call: CallOptions): Promise<number | null> {
    let ran: number | null = null;
    for (const uri of await this.#written(resultRefs, MANIFEST, call)) {
      for await (const { processedRecordCount: count } of readJsonLines(this.#bedrock.storage.get(uri, call))) {
        if (typeof count === "number" && count >= 0) ran = (ran ?? 0) + count;
      }
    }
    return ran;
  }

  async cancel(id: string, call: CallOptions): Promise<ProviderBatch> {
    return cancelBatch(id, {
      cancel: async () => {
        await (await this.#client()).stopModelInvocationJob({ jobIdentifier: id }, settingsOf(call));
        return null;
      },
      isRefusal: (error) => ["ConflictException", "ValidationException"].includes(classify(error, "cancel").code),
      retrieve: () => this.retrieve(id, call),
    });
  }

  async *listFiles(call: CallOptions): AsyncGenerator<{ readonly fileId: string; readonly fileName: string }> {
    for await (const { name, uri } of this.#bedrock.storage.list(INPUTS, call)) {
      yield { fileId: uri, fileName: name.slice(INPUTS.length) };
    }
  }

  async deleteFile(fileId: string, call: CallOptions): Promise<void> {
    await this.#bedrock.storage.delete(fileId, call);
  }

  protected override async deleteAll({ fileId, ...name }: CleanupInput, call: CallOptions): Promise<void> {
    const { storage } = this.#bedrock;
    const written: string[] = [];
    for await (const { uri } of storage.list(folderOf(name), call)) written.push(uri);
    for (const uri of fileId === null ? written : [...written, fileId]) await storage.delete(uri, call);
  }
}

/**
 * The client's current credentials, which it renews itself. If it cannot get any, its next call
 * reports the error.
 */
async function credentialsOf(client: BedrockClient): Promise<string[]> {
  const { credentials } = objectOf(objectOf(client).config);
  try {
    const { secretAccessKey, sessionToken } = objectOf(typeof credentials === "function" ? await credentials() : null);
    return [text(secretAccessKey), text(sessionToken)].filter((each) => each !== null);
  } catch {
    return [];
  }
}

/** The output folder of an attempt's job. */
function folderOf(name: Pick<BatchName, "key" | "attempt">): string {
  return `${OUTPUTS}${tokenOf(name)}/`;
}

function settingsOf({ signal, timeoutMs }: CallOptions): BedrockCallOptions {
  return { abortSignal: signal, requestTimeout: Math.ceil(timeoutMs) };
}
