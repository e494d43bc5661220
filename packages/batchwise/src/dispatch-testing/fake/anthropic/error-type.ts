// Anthropic's names for HTTP statuses. Pure.

/** The error type that Anthropic pairs with a status. */
export function errorType(status: number): string {
  const types: Readonly<Record<number, string>> = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
  };
  return types[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
}
