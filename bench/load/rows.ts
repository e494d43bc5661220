/** The messages between the clients and the server of sqlite-http.ts. */

/** The body of a request. */
export interface Row {
  readonly value: number;
  readonly text: string;
}

/** The body of a response. */
export interface SavedRow {
  readonly id: number;
  readonly value: number;
}

/** The line that the clients print at the end of their warm-up. */
export const MEASURING = "measuring";
