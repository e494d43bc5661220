import { expect, test } from "vitest";
import { crc32cText, crc32Text, md5Text } from "../../../../src/dispatch-testing/fake/storage/checksums.ts";

/** The input of the published check values of CRC catalogues. */
const digits = new TextEncoder().encode("123456789");

test("checksums have the values that the catalogues give for the nine digits", () => {
  expect(Buffer.from(crc32Text(digits), "base64").toString("hex")).toBe("cbf43926");
  expect(Buffer.from(crc32cText(digits), "base64").toString("hex")).toBe("e3069283");
  expect(md5Text(digits, "hex")).toBe("25f9e794323b453885f5181f1b624d0b");
});
