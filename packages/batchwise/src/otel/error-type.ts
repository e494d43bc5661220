// The label `error.type` of OpenTelemetry: a short name of what went wrong, of which there are few.

/** The error's code where it has one, else its name; "_OTHER" for what is no error. */
export function errorType(error: unknown): string {
  const { code, name } = (typeof error === "object" && error !== null ? error : {}) as {
    code?: unknown;
    name?: unknown;
  };
  if (typeof code === "string" && code !== "") return code;
  return typeof name === "string" && name !== "" ? name : "_OTHER";
}
