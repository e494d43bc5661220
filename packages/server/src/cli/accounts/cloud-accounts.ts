// Accounts in clouds, whose batches read and write a bucket of the user: Vertex AI with Cloud
// Storage, Bedrock with S3. Their clients find credentials by themselves, like all clients of that
// cloud.

import type { ObjectStorage } from "batchwise/dispatch";
import { bedrockAccount } from "batchwise/dispatch/bedrock";
import { gcsStorage, s3Storage } from "batchwise/dispatch/storage";
import { vertexAccount } from "batchwise/dispatch/vertex";
import { withoutPassword } from "../common/addresses.ts";
import type { AccountFlags } from "../common/arguments.ts";
import { CommandError, wordsOf } from "../common/failures.ts";
import { loadClient } from "../common/packages.ts";
import { addressIn, commonOptions, variable } from "./account-flags.ts";
import type { OpenAccount, Probe } from "./opened.ts";

export async function openVertex(flags: AccountFlags): Promise<OpenAccount> {
  const why = "--account vertex";
  const place = bucketOf(flags, "gs", why);
  const project = needed("GOOGLE_CLOUD_PROJECT", why, "my-project");
  const location = needed("GOOGLE_CLOUD_LOCATION", why, "us-central1");
  const GoogleGenAI = await loadClient("@google/genai", "GoogleGenAI", why);
  const Storage = await loadClient("@google-cloud/storage", "Storage", why);
  const httpOptions = flags.baseUrl === undefined ? {} : { httpOptions: { baseUrl: flags.baseUrl } };
  const client = new GoogleGenAI({ vertexai: true, project, location, ...httpOptions });
  const storage = gcsStorage({ client: new Storage({ projectId: project }) as never, ...place });
  const account = vertexAccount({ client: client as never, storage, ...commonOptions(flags) });
  const regional = location === "global" ? "" : `${location}-`;
  const url = flags.baseUrl ?? addressIn("GOOGLE_VERTEX_BASE_URL") ?? `https://${regional}aiplatform.googleapis.com`;
  return {
    ...{ account, url, credentials: "Google's application default credentials" },
    address: "--base-url / GOOGLE_VERTEX_BASE_URL",
    advice:
      "Export GOOGLE_APPLICATION_CREDENTIALS with the path of a key file, or run: gcloud auth application-default login",
    buckets: [bucketProbe(`gs://${place.bucket}`, storage)],
  };
}

/** The client's settings that are read back. */
interface AwsClient {
  readonly config: { region(): Promise<string>; credentials(): Promise<unknown> };
}

export async function openBedrock(flags: AccountFlags): Promise<OpenAccount> {
  const why = "--account bedrock";
  const place = bucketOf(flags, "s3", why);
  const roleArn = flags.roleArn ?? variable("BATCHWISE_ROLE_ARN");
  if (roleArn === null) {
    const wanted = "the role that Bedrock reads and writes the bucket as";
    throw new CommandError(
      `${why} needs ${wanted}: --role-arn arn:aws:iam::<account>:role/<name>, or BATCHWISE_ROLE_ARN`,
    );
  }
  const Bedrock = await loadClient("@aws-sdk/client-bedrock", "Bedrock", why);
  const S3 = await loadClient("@aws-sdk/client-s3", "S3", why);
  const client = new Bedrock({ maxAttempts: 1, ...(flags.baseUrl === undefined ? {} : { endpoint: flags.baseUrl }) });
  const region = await regionOf(client as AwsClient, why);
  const advice = "Export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE with a profile that has them.";
  await expectCredentials(client as AwsClient, why, advice);
  const storage = s3Storage({ client: new S3({}) as never, ...place });
  const account = accountWithRole(() =>
    bedrockAccount({ client: client as never, storage, roleArn, ...commonOptions(flags) }),
  );
  const own = addressIn("AWS_ENDPOINT_URL_BEDROCK") ?? addressIn("AWS_ENDPOINT_URL");
  const url = flags.baseUrl ?? own ?? `https://bedrock.${region}.amazonaws.com`;
  return {
    ...{ account, url, advice, credentials: "the AWS credentials" },
    address: "--base-url / AWS_ENDPOINT_URL_BEDROCK",
    buckets: [bucketProbe(`s3://${place.bucket}`, storage)],
  };
}

/** Reports a refused role in the library's own words. */
function accountWithRole<Account>(make: () => Account): Account {
  try {
    return make();
  } catch (error) {
    throw new CommandError(`--role-arn: ${wordsOf(error)}`);
  }
}

async function regionOf({ config }: AwsClient, why: string): Promise<string> {
  try {
    return await config.region();
  } catch (error) {
    throw new CommandError(`${why} needs a region: export AWS_REGION=us-east-1 (${wordsOf(error)})`);
  }
}

async function expectCredentials({ config }: AwsClient, why: string, advice: string): Promise<void> {
  try {
    await config.credentials();
  } catch (error) {
    throw new CommandError(`${why} needs credentials: ${wordsOf(error).replace(/\.$/, "")}. ${advice}`);
  }
}

function needed(name: string, why: string, example: string): string {
  const value = variable(name);
  if (value === null) throw new CommandError(`${name} is not set, and ${why} needs it: export ${name}=${example}`);
  return value;
}

/** Requests the name of one object, which shows that the bucket exists and may be listed. */
function bucketProbe(at: string, storage: ObjectStorage): Probe {
  return {
    at,
    ask: async (call) => {
      for await (const object of storage.list("inputs/", call)) return object;
      return null;
    },
  };
}

interface Place {
  readonly bucket: string;
  readonly prefix?: string;
}

/** Parses `gs://bucket/prefix`, with or without the scheme. */
function bucketOf(flags: AccountFlags, scheme: "gs" | "s3", why: string): Place {
  const given = flags.bucket ?? variable("BATCHWISE_BUCKET");
  const wanted = `${scheme}://<bucket>[/<prefix>]`;
  if (given === null) {
    const what = "a bucket that batches are read from and written to";
    throw new CommandError(`${why} needs ${what}: --bucket ${wanted}, or BATCHWISE_BUCKET`);
  }
  const [, named, bucket, prefix = ""] = /^(?:(\w+):\/\/)?([^/:]+)(?:\/(.*?))?\/?$/.exec(given) ?? [];
  if (bucket === undefined || (named !== undefined && named !== scheme)) {
    throw new CommandError(`Expected --bucket of ${why} to be ${wanted}, got "${withoutPassword(given)}"`);
  }
  return prefix === "" ? { bucket } : { bucket, prefix };
}
