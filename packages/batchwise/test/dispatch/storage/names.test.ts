import { gcsStorage, s3Storage } from "batchwise/dispatch/storage";
import { describe, expect, test } from "vitest";
import { ObjectNames } from "../../../src/dispatch/storage/names.ts";

const methods = ["putObject", "getObject", "deleteObject", "listObjectsV2", "createMultipartUpload", "uploadPart"];
const s3 = Object.fromEntries(
  [...methods, "completeMultipartUpload", "abortMultipartUpload"].map((name) => [name, () => {}]),
);

describe("names of objects", () => {
  const names = new ObjectNames("gs", { bucket: "b", prefix: "p/q" });

  test("are keys under the prefix, which ends in a slash", () => {
    expect(names.keyOf("x/y")).toBe("p/q/x/y");
    expect(new ObjectNames("gs", { bucket: "b", prefix: "p/" }).keyOf("x")).toBe("p/x");
    expect(new ObjectNames("gs", { bucket: "b" }).keyOf("x")).toBe("x");
    expect(names.addressOf("p/q/x")).toBe("gs://b/p/q/x");
  });

  test("come back from keys: outside of the prefix as addresses, which lead to the same key", () => {
    expect(names.nameOf("p/q/x")).toBe("x");
    expect(names.nameOf("other/x")).toBe("gs://b/other/x");
    expect(names.keyOf("gs://b/other/x")).toBe("other/x");
  });

  test("are no addresses of another bucket or service", () => {
    for (const uri of ["gs://bb/x", "s3://b/x", "https://b/x"]) {
      expect(() => names.keyOf(uri)).toThrow(`Expected an address below gs://b/, got ${uri}.`);
    }
  });
});

test.each([
  [{ bucket: "" }, "Expected `bucket` to be a bucket's name, got"],
  [{ bucket: "gs://b" }, "Expected `bucket` to be a bucket's name, got"],
  [{ bucket: 7 }, "Expected `bucket` to be a bucket's name, got"],
  [{ bucket: "b", prefix: "/p" }, "Expected `prefix` to be letters, digits and any of . _ - /, not first, got"],
  [{ bucket: "b", prefix: "a b" }, "Expected `prefix` to be letters, digits"],
  [{ bucket: "b", perfix: "p" }, "Unknown option `perfix`, did you mean `prefix`?"],
])("%j is refused as a place", (place, message) => {
  expect(() => s3Storage({ client: s3, ...place } as never)).toThrow(message);
});

test("a client that lacks a method is refused by name", () => {
  const { uploadPart: _, ...without } = s3;
  expect(() => s3Storage({ client: without, bucket: "b" } as never)).toThrow(
    "Expected `client` to be an object with putObject, getObject, deleteObject, listObjectsV2, createMultipartUpload, " +
      "uploadPart, completeMultipartUpload, abortMultipartUpload",
  );
  expect(() => gcsStorage({ client: {}, bucket: "b" } as never)).toThrow(
    "Expected `client` to be an object with bucket",
  );
});
