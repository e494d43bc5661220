// The tested storages, each over its usual official client, at a strict fake over real HTTP.

import { S3, type S3ClientConfig } from "@aws-sdk/client-s3";
import { Storage, type StorageOptions } from "@google-cloud/storage";
import { type GcsClient, gcsStorage, s3Storage } from "batchwise/dispatch/storage";
import { type FakeStorageOptions, fakeGcs, fakeS3, type StorageRig } from "batchwise/dispatch/testing";
import { onTestFinished } from "vitest";

const PLACE = { bucket: "bucket", prefix: "folder" } as const;

export function s3Client(url: string, config: S3ClientConfig = {}): S3 {
  const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
  return new S3({ endpoint: url, forcePathStyle: true, region: "eu-west-1", credentials, maxAttempts: 1, ...config });
}

function gcsClient(url: string, options: StorageOptions = {}): Storage {
  return new Storage({ apiEndpoint: url, projectId: "project", retryOptions: { autoRetry: false }, ...options });
}

export async function openS3(options: FakeStorageOptions = {}, config: S3ClientConfig = {}): Promise<StorageRig> {
  const fake = fakeS3(options);
  const server = await fake.listen();
  const client = s3Client(server.url, config);
  onTestFinished(async () => {
    client.destroy();
    await server.close();
  });
  return { fake, storage: s3Storage({ client, ...PLACE }) };
}

export function openGcs(options: FakeStorageOptions = {}, config: StorageOptions = {}): Promise<StorageRig> {
  return openGcsBy((url) => gcsClient(url, config), options);
}

export async function openGcsBy(
  clientOf: (url: string) => GcsClient,
  options: FakeStorageOptions = {},
): Promise<StorageRig> {
  const fake = fakeGcs(options);
  const server = await fake.listen();
  onTestFinished(() => server.close());
  return { fake, storage: gcsStorage({ client: clientOf(server.url), ...PLACE }) };
}
