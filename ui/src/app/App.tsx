import { QueryClientProvider } from "@tanstack/react-query";
import { Suspense } from "react";
import { Route, Router, Switch } from "wouter";

import { basePath } from "../api/base";
import { makeQueryClient } from "../api/queries";
import { Loading } from "../kit/States";
import { Toasts } from "../kit/Toasts";
import { Gate } from "./Gate";
import { NotFound } from "./NotFound";
import { PageBoundary } from "./PageBoundary";
import { PAGES, pageAt, type RegisteredPage } from "./pages";
import { Refused } from "./Refused";

const queries = makeQueryClient();
/** The page of the address is fetched while the service says who the viewer is. */
const firstPage = pageAt(window.location.pathname.slice(basePath.length))?.Component.fetch() ?? Promise.resolve();

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <Router base={basePath}>
        <Gate firstPage={firstPage}>
          <Pages />
        </Gate>
        <Toasts />
      </Router>
    </QueryClientProvider>
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
