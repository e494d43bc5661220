/**
 * Reads one HTTP/1.1 response with a `content-length`, the only kind that the benchmarks' server
 * sends. Pure. Does not read chunked bodies, or two responses in one text.
 */
export interface HttpResponse {
  readonly status: number;
  readonly body: string;
}

const HEAD_END = "\r\n\r\n";

/**
 * The response in `text`, or null while a part of it is missing. Throws if the length is unknown.
 */
export function readResponse(text: string): HttpResponse | null {
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const head = text.slice(0, headEnd);
  const length = /^content-length: *(\d+)$/im.exec(head)?.[1];
  if (length === undefined) throw new Error(`Expected a response with a content-length, got:\n${head}`);
  const body = text.slice(headEnd + HEAD_END.length);
  if (body.length < Number(length)) return null;
  return { status: Number(head.split(" ", 2)[1]), body };
}
