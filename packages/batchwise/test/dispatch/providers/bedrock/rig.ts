// A Bedrock account over the official clients, at a fake Bedrock and a fake S3: over real sockets
// or in process.

import { Bedrock } from "@aws-sdk/client-bedrock";
import { S3 } from "@aws-sdk/client-s3";
import { type BedrockAccountOptions, bedrockAccount } from "batchwise/dispatch/bedrock";
import { s3Storage } from "batchwise/dispatch/storage";
import {
  type FakeOptions,
  type FakeProvider,
  type FakeStorage,
  fakeProvider,
  fakeS3,
} from "batchwise/dispatch/testing";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { type InProcess, inProcess } from "./in-process.ts";

export const ROLE = "arn:aws:iam::123456789012:role/bedrock-batches";
const COMMON = {
  region: "us-east-1",
  credentials: { accessKeyId: "key", secretAccessKey: "secret" },
  maxAttempts: 1,
};

interface Clients {
  readonly bedrock: Bedrock;
  readonly s3: S3;
}

interface Fakes {
  readonly fake: FakeProvider;
  readonly s3: FakeStorage;
}

export interface BedrockRig extends Fakes {
  readonly account: Account;
  readonly clock: VirtualClock;
  readonly clients: Clients;
  close(): Promise<void>;
}

/** Over real sockets. */
export async function bedrockRig(
  options: FakeOptions = {},
  account: Partial<BedrockAccountOptions> = {},
): Promise<BedrockRig> {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const { fake, s3 } = fakesOn(clock, options);
  const servers = [await fake.listen(), await s3.listen()] as const;
  const clients = {
    bedrock: new Bedrock({ ...COMMON, endpoint: servers[0].url }),
    s3: new S3({ ...COMMON, endpoint: servers[1].url, forcePathStyle: true }),
  };
  return {
    account: accountOver(clients, account),
    fake,
    s3,
    clock,
    clients,
    async close() {
      for (const client of Object.values(clients)) client.destroy();
      for (const server of servers) await server.close();
    },
  };
}

/** In process, on this clock. */
export function localBedrock(
  clock: VirtualClock,
  options: FakeOptions = {},
  account: Partial<BedrockAccountOptions> = {},
): Fakes & { readonly account: Account; readonly calls: InProcess } {
  const calls = inProcess();
  const { fake, s3 } = fakesOn(clock, options);
  const clients = {
    bedrock: new Bedrock({ ...COMMON, endpoint: "http://bedrock.test", requestHandler: calls.handler(fake.fetch) }),
    s3: new S3({
      ...COMMON,
      endpoint: "http://s3.test",
      forcePathStyle: true,
      requestHandler: calls.handler(s3.fetch),
    }),
  };
  return { account: accountOver(clients, account), fake, s3, calls };
}

function fakesOn(clock: VirtualClock, options: FakeOptions): Fakes {
  const s3 = fakeS3({ clock });
  return { s3, fake: fakeProvider({ clock, storage: s3, ...options }) };
}

function accountOver(clients: Clients, options: Partial<BedrockAccountOptions>): Account {
  const storage = s3Storage({ client: clients.s3, bucket: "bucket", prefix: "batches" });
  return bedrockAccount({ client: clients.bedrock, storage, roleArn: ROLE, ...options });
}
