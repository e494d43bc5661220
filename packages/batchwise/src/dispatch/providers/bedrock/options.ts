// The options of a Bedrock account, checked once.

import { aString, check, finiteIntegerFrom, objectWith, oneOf, type Rule } from "../../../core/contract/validate.ts";
import type { AccountOptions } from "../../contract/account.ts";
import type { ObjectStorage } from "../../contract/storage.ts";
import { type OptionTable, readOptions } from "../../format/option-table.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { checkIsClient, checkMethods } from "../shapes/sdk/sdk-client.ts";
import type { BedrockClient } from "./client.ts";
import { capabilitiesOf, FAMILY_NAMES } from "./families.ts";
import type { BedrockFamily } from "./family.ts";

const METHODS = [
  "createModelInvocationJob",
  "getModelInvocationJob",
  "listModelInvocationJobs",
  "stopModelInvocationJob",
];
const HOUR_MS = 3_600_000;
const aRole: Rule = {
  ...aString,
  expected: "the ARN of a role (arn:aws:iam::…:role/…)",
  test: (arn: string) => /^arn:aws(-[^:]+)?:iam::\d{12}:role\/.+/.test(arn),
};
/** The rule of `timeoutDurationInHours`: Bedrock user guide, "Create a batch inference job". */
const aTimeout: Rule = {
  ...finiteIntegerFrom(24),
  expected: "an integer from 24 to 168",
  test: (hours: number) => Number.isInteger(hours) && hours >= 24 && hours <= 168,
};

/** Options of `bedrockAccount`. */
export interface BedrockAccountOptions extends AccountOptions {
  /**
   * `new Bedrock({ region })` of `@aws-sdk/client-bedrock` 3, the aggregated client.
   * `maxAttempts: 1` spares calls.
   */
  readonly client: BedrockClient;
  /**
   * `s3Storage()` in a bucket of the same region. The role reads `inputs/` and writes `outputs/`
   * there.
   */
  readonly storage: ObjectStorage;
  /** The service role with which Bedrock reads and writes the bucket. */
  readonly roleArn: string;
  /** The model family, if the model ids do not show it, as for application inference profiles. */
  readonly family?: BedrockFamily;
  /**
   * Token limit of requests to Claude that set none, because Claude requires one. Default 4_096.
   */
  readonly defaultMaxTokens?: number;
  /** Hours until a job expires, 24 to 168. Default 24. */
  readonly timeoutHours?: number;
  /** The AWS account that owns the bucket, if it is another one. */
  readonly bucketOwner?: string;
  /** The key that encrypts the outputs, if it is not the bucket's own. */
  readonly kmsKeyId?: string;
  /** Tags of every job, for cost allocation. */
  readonly tags?: Readonly<Record<string, string>>;
}

/** The resolved options. */
export type BedrockSettings = BedrockAccountOptions & {
  readonly defaultMaxTokens: number;
  readonly timeoutHours: number;
  readonly settings: AccountSettings;
};

const PLAIN = {
  family: [oneOf(...FAMILY_NAMES)],
  defaultMaxTokens: [finiteIntegerFrom(1), 4_096],
  timeoutHours: [aTimeout, 24],
  bucketOwner: [aString],
  kmsKeyId: [aString],
} satisfies OptionTable<BedrockAccountOptions>;
const OWN = ["client", "storage", "roleArn", "tags", ...Object.keys(PLAIN)];

/** Validates and fills in. Throws INVALID_OPTION. */
export function resolveBedrockOptions(options: BedrockAccountOptions): BedrockSettings {
  check("options", objectWith(), options);
  const { client, storage } = options;
  checkIsClient(client);
  checkMethods("client", client, METHODS);
  check("storage", objectWith("put", "get", "list", "delete", "uriOf"), storage);
  check("roleArn", aRole, options.roleArn);
  const { family, defaultMaxTokens, timeoutHours } = readOptions(options, PLAIN);
  if (options.tags !== undefined) {
    check("tags", objectWith(), options.tags);
    for (const [key, value] of Object.entries(options.tags)) check(`tags.${key}`, aString, value);
  }
  const settings = resolveAccountOptions(options, OWN, {
    ...capabilitiesOf(family ?? null),
    completionWindowMs: timeoutHours * HOUR_MS,
  });
  return { ...options, defaultMaxTokens, timeoutHours, settings };
}
