import { expect, test } from "vitest";
import { readResponse } from "./http-response.ts";

const text = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nKeep-Alive: timeout=5\r\n\r\n[1,2]";

test("a whole response gives its status and its body", () => {
  expect(readResponse(text)).toEqual({ status: 200, body: "[1,2]" });
});

test("a response is not read before its last byte has come", () => {
  for (let end = 0; end < text.length; end += 1) expect(readResponse(text.slice(0, end))).toBeNull();
});

test("a response of unknown length is refused", () => {
  expect(() => readResponse("HTTP/1.1 200 OK\r\n\r\n")).toThrow("Expected a response with a content-length");
});
