// Checks of answers: the interface of schemas, and of a function in the place of one. Types only.

import type { Endpoint, JsonObject } from "./types.ts";

/**
 * A schema as zod, valibot, arktype and others make it: version 1 of Standard Schema, as far as it
 * is used here. https://standardschema.dev
 */
export interface OutputSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Standard JSON Schema; may throw for what JSON Schema cannot say. */
    readonly jsonSchema?:
      | { readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown> }
      | undefined;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** What a schema says of a value. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** Why a value is not as the schema says, and where. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The request of an answer that is checked. */
export interface CheckedRequest {
  readonly id: string;
  readonly endpoint: Endpoint;
  /** As it was sent. */
  readonly body: JsonObject;
  /** "" for none. */
  readonly job: string;
  /** "" for none. */
  readonly tenant: string;
  readonly metadata: Readonly<Record<string, string>> | null;
}

/**
 * Checks the answer of a request: null where it is right, or else a sentence that says why not.
 * `body` is the provider's answer.
 */
export type OutputCheck = (body: JsonObject, request: CheckedRequest) => string | null | Promise<string | null>;
