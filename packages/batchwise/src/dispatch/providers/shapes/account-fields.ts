// The plain fields that every account has. An account extends this class with its calls.

import type { Account } from "../../contract/account.ts";
import type { AccountSettings } from "./account-options.ts";

export class AccountFields {
  readonly name: string;
  readonly capabilities: Account["capabilities"];
  readonly models: readonly string[] | null;
  readonly weight: number;
  readonly pollMs: number;
  readonly requestTimeoutMs: number;
  readonly reconcileGraceMs: number;
  readonly checkBodies: boolean;
  readonly #secrets: () => readonly string[];

  constructor(settings: AccountSettings) {
    this.name = settings.name;
    this.capabilities = settings.capabilities;
    this.models = settings.models;
    this.weight = settings.weight;
    this.pollMs = settings.pollMs;
    this.requestTimeoutMs = settings.requestTimeoutMs;
    this.reconcileGraceMs = settings.reconcileGraceMs;
    this.checkBodies = settings.checkBodies;
    this.#secrets = settings.secrets;
  }

  secrets(): readonly string[] {
    return this.#secrets();
  }
}
