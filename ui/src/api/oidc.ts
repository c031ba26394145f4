/** Sign-in at an identity provider: authorization code with PKCE, for which a browser needs no secret. */
import type { Oidc } from "./me";
import { ApiProblem } from "./problem";

/** What the page needs of the browser, so that tests can give their own. */
export interface OidcWorld {
  fetch: typeof fetch;
  storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  crypto: Crypto;
  /** The first page; the provider sends the browser back to `sign-in` below it. */
  home: string;
  /** Where the browser is. */
  here: string;
}

interface Pending {
  state: string;
  verifier: string;
  tokenEndpoint: string;
  clientId: string;
  returnTo: string;
}

const PLACE = "tenuto.sign-in";

export const inBrowser = (): OidcWorld => ({
  fetch: (...request) => fetch(...request),
  storage: sessionStorage,
  crypto,
  home: new URL(".", document.baseURI).href,
  here: window.location.href,
});

/** The provider's page to go to. What is needed when it leads back is kept in the session. */
export async function signInUrl(oidc: Oidc, world: OidcWorld): Promise<string> {
  if (world.crypto.subtle === undefined) {
    throw refused("This page was not loaded over HTTPS.", "Browsers sign in at a provider only from HTTPS or this machine.");
  }
  const provider = await discovered(oidc.issuer, world);
  const [state, verifier] = [random(world), random(world)];
  const challenge = encoded(await world.crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
  const pending: Pending = { state, verifier, tokenEndpoint: provider.token_endpoint, clientId: oidc.clientId, returnTo: world.here };
  world.storage.setItem(PLACE, JSON.stringify(pending));
  const url = new URL(provider.authorization_endpoint);
  const asked = {
    response_type: "code",
    client_id: oidc.clientId,
    redirect_uri: `${world.home}sign-in`,
    scope: [...oidc.scopes].join(" ") || "openid",
    state,
    code_challenge: challenge,
    code_challenge_method: "S256",
    ...(oidc.audience ? { audience: oidc.audience } : {}),
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  return url.href;
}

/** Whether the provider has sent the browser back here. */
export const isAnswer = (search: URLSearchParams): boolean => search.has("state") && (search.has("code") || search.has("error"));

/** The token for the provider's answer, and the page that the viewer came from. */
export async function finished(search: URLSearchParams, world: OidcWorld): Promise<{ token: string; returnTo: string }> {
  const pending = JSON.parse(world.storage.getItem(PLACE) ?? "null") as Pending | null;
  world.storage.removeItem(PLACE);
  // An answer that this tab did not ask for could sign its viewer in as another.
  if (pending === null || pending.state !== search.get("state")) {
    throw refused("The answer of the identity provider does not belong to this tab.", "Sign in again.");
  }
  const code = search.get("code");
  if (code === null) {
    throw refused(`The identity provider refused: ${search.get("error_description") ?? search.get("error") ?? "no reason"}`, "Sign in again, or with a key.");
  }
  const { token_endpoint: place, ...form } = { token_endpoint: pending.tokenEndpoint, grant_type: "authorization_code", code, redirect_uri: `${world.home}sign-in`, client_id: pending.clientId, code_verifier: pending.verifier };
  const answer = await reached(world.fetch(place, { method: "POST", body: new URLSearchParams(form) }));
  const said = (await answer.json().catch(() => ({}))) as { access_token?: string; id_token?: string; error?: string; error_description?: string };
  // Some providers give an access token that only they can read.
  const token = said.access_token?.split(".").length === 3 ? said.access_token : said.id_token;
  if (!answer.ok || token === undefined) {
    throw refused(`The identity provider gave no token: ${said.error_description ?? said.error ?? `status ${answer.status}`}`, "Sign in again, or with a key.");
  }
  return { token, returnTo: isBelow(pending.returnTo, world.home) ? pending.returnTo : world.home };
}

async function discovered(issuer: string, world: OidcWorld): Promise<{ authorization_endpoint: string; token_endpoint: string }> {
  const answer = await reached(world.fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`));
  const said = (await answer.json().catch(() => ({}))) as Partial<Record<"authorization_endpoint" | "token_endpoint", string>>;
  const { authorization_endpoint, token_endpoint } = said;
  if (!answer.ok || authorization_endpoint === undefined || token_endpoint === undefined) {
    throw refused(`The identity provider ${issuer} does not describe itself.`, "Ask who runs this service.");
  }
  return { authorization_endpoint, token_endpoint };
}

async function reached(answer: Promise<Response>): Promise<Response> {
  try {
    return await answer;
  } catch {
    throw refused("The identity provider could not be reached from this browser.", "Check the network; the provider must allow this page's origin.");
  }
}

const isBelow = (url: string, home: string): boolean => url.startsWith(home);

const random = (world: OidcWorld): string => encoded(world.crypto.getRandomValues(new Uint8Array(32)).buffer);

const encoded = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

const refused = (detail: string, advice: string): ApiProblem => new ApiProblem(401, { title: "Not signed in", detail, advice });
