import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { Suspense, useEffect, useState } from "react";
import { Route, Router, Switch } from "wouter";

import { basePath } from "../api/base";
import { useLiveConnection } from "../api/liveHooks";
import { meQuery, type Me } from "../api/me";
import { makeQueryClient } from "../api/queries";
import { Loading } from "../kit/States";
import { Toasts } from "../kit/Toasts";
import { session } from "../state/session";
import { useStore } from "../state/store";
import { Frame } from "./Frame";
import { NotFound } from "./NotFound";
import { PageBoundary } from "./PageBoundary";
import { PAGES, type RegisteredPage } from "./pages";
import { Refused } from "./Refused";
import { SignIn } from "./SignIn";
import { Unreachable } from "./Unreachable";

const queries = makeQueryClient();

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <Router base={basePath}>
        <Gate />
        <Toasts />
      </Router>
    </QueryClientProvider>
  );
}

/** First the service and the principal, then the pages. A page that was shown stays while its viewer signs in again. */
function Gate() {
  const { key, isRefused } = useStore(session);
  const [isEntered, setIsEntered] = useState(false);
  const me = useQuery<Me>(meQuery);
  useEffect(() => {
    // Another key is another principal: nothing of the former may stay in sight.
    queries.removeQueries({ predicate: (query) => query.queryKey[0] !== "me" });
    void queries.invalidateQueries();
  }, [key]);
  const needsSignIn = isRefused || me.data?.principal === null;
  useEffect(() => {
    if (me.data?.principal) setIsEntered(true);
  }, [me.data]);
  useLiveConnection(isEntered && !needsSignIn);

  if (!isEntered) {
    if (needsSignIn) return <SignIn me={me.data} />;
    if (me.data === undefined) return me.failureCount > 0 ? <Unreachable error={me.failureReason} onRetry={() => void me.refetch()} /> : <Loading />;
  }
  return (
    <>
      <Frame>
        <Pages />
      </Frame>
      {needsSignIn && <SignIn me={me.data} isAgain />}
    </>
  );
}

function Pages() {
  return (
    <Switch>
      {PAGES.map((page) => (
        <Route key={page.path} path={page.path}>
          {(params) => <Shown page={page} params={params as Record<string, string>} />}
        </Route>
      ))}
      <Route>
        <NotFound />
      </Route>
    </Switch>
  );
}

function Shown({ page, params }: { page: RegisteredPage; params: Record<string, string> }) {
  return (
    <PageBoundary>
      <Refused permission={page.permission} title={page.title}>
        <Suspense fallback={<Loading label={`Loading ${page.title}`} />}>
          <page.Component params={params} />
        </Suspense>
      </Refused>
    </PageBoundary>
  );
}
