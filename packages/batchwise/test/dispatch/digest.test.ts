import { expect, test } from "vitest";
import { digest } from "../../src/dispatch/digest.ts";

test.each([
  ["", "AAAAAAAAAAAAAAAAAAAAAA"],
  ["a", "PJOUpxuwVlUbsFZVG7BWVQ"],
  ["hello", "oEQkK_fekdu2MduatjHbmg"],
  ["123456789012345", "eAqReCPJhNQD-QrD2zBVEg"],
  ["1234567890123456", "uN89IIM99BlMtEA_vaDX0g"],
  ["12345678901234567", "b4tBQ55A4mxCMZ6dfICaQA"],
  ["grüße", "886ED3pabzIIN0trCDdLaw"],
  ["é".repeat(30_000), "2PCa8nFBjDewWSC9W2ZJ3A"],
])("the digest of %j is the published one, wherever the text is cut in two", (text, expected) => {
  for (const at of [0, 1, text.length]) expect(digest(text.slice(0, at), text.slice(at))).toBe(expected);
});

test("a long text before it leaves nothing behind in the digest of a short one", () => {
  digest("", "x".repeat(20_000));
  expect(digest("", "hello")).toBe("oEQkK_fekdu2MduatjHbmg");
});

test("a change of one character anywhere changes the digest", () => {
  const text = "word ".repeat(50);
  const changed = Array.from(text, (_, at) => digest("", `${text.slice(0, at)}#${text.slice(at + 1)}`));
  expect(new Set([digest("", text), ...changed]).size).toBe(text.length + 1);
});
