import { ApiProblem } from "../api/problem";
import { signIn } from "../state/session";
import { makeStore } from "../state/store";

/** Why the identity provider did not sign the viewer in. */
export const providerProblem = makeStore<ApiProblem | null>(null);

/** Take the answer of an identity provider out of the URL, where it is one, before anything else reads the URL. */
export async function takeAnswer(): Promise<void> {
  const search = new URLSearchParams(window.location.search);
  if (!search.has("state")) return;
  const { finished, inBrowser, isAnswer } = await import("../api/oidc");
  if (!isAnswer(search)) return;
  const world = inBrowser();
  window.history.replaceState(null, "", world.home);
  try {
    const { token, returnTo } = await finished(search, world);
    signIn(token);
    window.history.replaceState(null, "", returnTo);
  } catch (error) {
    providerProblem.set(error instanceof ApiProblem ? error : new ApiProblem(401, { title: "Not signed in", detail: String(error) }));
  }
}
