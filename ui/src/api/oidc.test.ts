import { createHash, webcrypto } from "node:crypto";
import { expect, test } from "vitest";

import { finished, isAnswer, signInUrl, type OidcWorld } from "./oidc";

const OIDC = { issuer: "https://id.example/realm", clientId: "tenuto-ui", scopes: ["openid", "profile"], audience: "tenuto" };
const HOME = "https://service.example/x/";
const TOKEN = "head.body.signature";

function world(given: { token?: object; status?: number } = {}) {
  const kept = new Map<string, string>();
  const asked: { url: string; form: URLSearchParams }[] = [];
  const made: OidcWorld = {
    fetch: async (input, init) => {
      const url = String(input);
      if (url.endsWith("/.well-known/openid-configuration")) {
        return Response.json({ authorization_endpoint: "https://id.example/auth?realm=r", token_endpoint: "https://id.example/token" });
      }
      asked.push({ url, form: init?.body as URLSearchParams });
      return Response.json(given.token ?? { access_token: TOKEN }, { status: given.status ?? 200 });
    },
    storage: {
      getItem: (name) => kept.get(name) ?? null,
      setItem: (name, value) => void kept.set(name, value),
      removeItem: (name) => void kept.delete(name),
    },
    crypto: webcrypto as Crypto,
    home: HOME,
    here: `${HOME}instances?status=FAILED`,
  };
  return { made, asked, kept };
}

test("a sign-in sends the digest of a secret that only the exchange shows, and leads back to the same page", async () => {
  const { made, asked } = world();
  const { searchParams } = new URL(await signInUrl(OIDC, made));
  expect(Object.fromEntries(searchParams)).toMatchObject({ realm: "r", response_type: "code", client_id: "tenuto-ui", redirect_uri: `${HOME}sign-in`, scope: "openid profile", audience: "tenuto", code_challenge_method: "S256" });
  const answer = new URLSearchParams({ code: "c1", state: searchParams.get("state") ?? "" });
  expect(isAnswer(answer)).toBe(true);
  expect(await finished(answer, made)).toEqual({ token: TOKEN, returnTo: `${HOME}instances?status=FAILED` });
  const verifier = asked[0]?.form.get("code_verifier") ?? "";
  expect(createHash("sha256").update(verifier).digest("base64url")).toBe(searchParams.get("code_challenge"));
});

test("an answer that this tab did not ask for, or twice, is refused", async () => {
  const { made } = world();
  const { searchParams } = new URL(await signInUrl(OIDC, made));
  const own = new URLSearchParams({ code: "c1", state: searchParams.get("state") ?? "" });
  await expect(finished(new URLSearchParams({ code: "c1", state: "other" }), made)).rejects.toMatchObject({ status: 401 });
  await expect(finished(own, made)).rejects.toMatchObject({ status: 401 });
});

test("a provider that refuses is quoted", async () => {
  const { made } = world();
  const { searchParams } = new URL(await signInUrl(OIDC, made));
  const answer = new URLSearchParams({ error: "access_denied", error_description: "not in the group", state: searchParams.get("state") ?? "" });
  await expect(finished(answer, made)).rejects.toThrow("not in the group");
});

test("an access token that the service cannot read gives way to the identity token", async () => {
  const { made } = world({ token: { access_token: "opaque", id_token: TOKEN } });
  const { searchParams } = new URL(await signInUrl(OIDC, made));
  const { token } = await finished(new URLSearchParams({ code: "c", state: searchParams.get("state") ?? "" }), made);
  expect(token).toBe(TOKEN);
});

test("where a viewer came from cannot lead to another site", async () => {
  const { made } = world();
  const { searchParams } = new URL(await signInUrl(OIDC, { ...made, here: "https://evil.example/" }));
  const { returnTo } = await finished(new URLSearchParams({ code: "c", state: searchParams.get("state") ?? "" }), made);
  expect(returnTo).toBe(HOME);
});
