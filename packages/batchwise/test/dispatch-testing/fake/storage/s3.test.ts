// Calls that the fake S3 refuses, through the official client.

import type { S3 } from "@aws-sdk/client-s3";
import { fakeS3 } from "batchwise/dispatch/testing";
import { expect, onTestFinished, test } from "vitest";
import { s3Client } from "../../../dispatch/storage/storage-cases.ts";

async function open(
  options: Parameters<typeof fakeS3>[0] = {},
): Promise<{ fake: ReturnType<typeof fakeS3>; client: S3; url: string }> {
  const fake = fakeS3(options);
  const server = await fake.listen();
  const client = s3Client(server.url);
  onTestFinished(async () => {
    client.destroy();
    await server.close();
  });
  return { fake, client, url: server.url };
}

const KEY = { Bucket: "bucket", Key: "a" };

test("a bucket, a key and an upload that are not there have errors of their own", async () => {
  const { client } = await open();
  await expect(client.getObject({ ...KEY, Bucket: "none" })).rejects.toMatchObject({ name: "NoSuchBucket" });
  await expect(client.getObject(KEY)).rejects.toMatchObject({ name: "NoSuchKey" });
  await expect(client.headObject(KEY)).rejects.toMatchObject({ name: "NotFound" });
  await expect(client.uploadPart({ ...KEY, UploadId: "none", PartNumber: 1, Body: "x" })).rejects.toMatchObject({
    name: "NoSuchUpload",
  });
});

test("a call without a signature is refused, and a route that the fake lacks is named", async () => {
  const { url } = await open();
  expect((await fetch(`${url}/bucket/a`)).status).toBe(403);
  const unknown = await fetch(`${url}/bucket?acl`);
  expect([unknown.status, await unknown.text()]).toEqual([
    501,
    expect.stringContaining("The fake has no GET /bucket."),
  ]);
});

test("an upload is judged at its end: order, parts and their least size", async () => {
  const { client, fake } = await open();
  const { UploadId } = await client.createMultipartUpload(KEY);
  const upload = { ...KEY, UploadId };
  const parts = [];
  for (const PartNumber of [1, 2]) {
    const { ETag, ChecksumCRC32 } = await client.uploadPart({ ...upload, PartNumber, Body: "part" });
    parts.push({ PartNumber, ETag, ChecksumCRC32 });
  }
  const complete = (Parts: object[]) => client.completeMultipartUpload({ ...upload, MultipartUpload: { Parts } });
  await expect(complete([])).rejects.toMatchObject({ name: "MalformedXML" });
  await expect(complete([...parts].reverse())).rejects.toMatchObject({ name: "InvalidPartOrder" });
  await expect(complete([{ ...parts[0], ETag: '"x"' }])).rejects.toMatchObject({ name: "InvalidPart" });
  await expect(complete(parts)).rejects.toMatchObject({ name: "EntityTooSmall" });
  expect(fake.names("bucket")).toEqual([]);
  await complete(parts.slice(0, 1));
  expect(Buffer.from(fake.read("bucket", "a") ?? []).toString()).toBe("part");
});

test("bytes with a wrong checksum are refused", async () => {
  const { client, fake } = await open();
  const wrong = { ...KEY, Body: "x", ChecksumCRC32: "AAAAAA==" };
  await expect(client.putObject(wrong)).rejects.toMatchObject({ name: "BadDigest" });
  expect(fake.names("bucket")).toEqual([]);
});

test("lists escape names and continue behind the last one", async () => {
  const { client, fake } = await open({ pageSize: 1 });
  for (const name of ["a&b", "a<c"]) fake.write("bucket", name, name);
  const first = await client.listObjectsV2({ Bucket: "bucket" });
  expect([first.IsTruncated, first.Contents?.[0]?.Key]).toEqual([true, "a&b"]);
  const second = await client.listObjectsV2({ Bucket: "bucket", ContinuationToken: first.NextContinuationToken });
  expect([second.IsTruncated, second.Contents?.[0]?.Key]).toEqual([false, "a<c"]);
});

test("an unknown option is refused", () => {
  expect(() => fakeS3({ bucket: "a" } as never)).toThrow("Unknown option `bucket`, did you mean `buckets`?");
});
