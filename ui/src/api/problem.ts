import type { components } from "./schema";

export type ProblemDetails = components["schemas"]["ProblemDetails"];
export type ProblemItem = components["schemas"]["ProblemItem"];

/** Why a request had no answer: the service refused it, or could not be reached (status 0). */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly advice: string;
  readonly problems: readonly ProblemItem[];
  readonly requestId: string | null;
  readonly details: Partial<ProblemDetails>;
  /** Seconds to wait, where the service named them. */
  readonly retryAfter: number | null;

  constructor(status: number, details: Partial<ProblemDetails>, retryAfter: number | null = null) {
    super(details.detail ?? details.title ?? `The service answered with status ${status}.`);
    this.status = status;
    this.code = details.code ?? "";
    this.title = details.title ?? "Refused";
    this.advice = details.advice ?? "";
    this.problems = details.problems ?? [];
    this.requestId = details.requestId ?? null;
    this.details = details;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may succeed later, so that it is worth repeating. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 502;
  }
}

export const unreachable = (): ApiProblem =>
  new ApiProblem(0, {
    title: "The service cannot be reached",
    detail: "No answer came from the service.",
    advice: "Check that it runs (tenuto dev, or tenuto serve) and that nothing between blocks it. This page tries again by itself.",
  });

/** The problem of an answer; one that is no problem document comes from something between, such as a proxy. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const text = await response.text().catch(() => "");
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  const requestId = response.headers.get("x-request-id");
  const details = parsed(text) ?? {
    title: response.statusText || `Status ${response.status}`,
    detail: `The answer with status ${response.status} is not Tenuto's own: ${text.slice(0, 200) || "it is empty"}`,
    advice: "It may come from a proxy in front of the service.",
    ...(requestId === null ? {} : { requestId }),
  };
  return new ApiProblem(response.status, details, Number.isFinite(seconds) ? seconds : null);
}

function parsed(text: string): Partial<ProblemDetails> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "code" in value ? (value as Partial<ProblemDetails>) : null;
  } catch {
    return null;
  }
}
