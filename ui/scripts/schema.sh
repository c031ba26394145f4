#!/bin/sh
# Writes src/api/schema.ts anew from the operations that the service has: `npm run schema`, after `make setup`.
set -eu
cd "$(dirname "$0")/.."
document=$(mktemp)
trap 'rm -f "$document"' EXIT
printed() { (cd .. && "${PYTHON:-.venv/bin/python}" -m tests.api.ui_types "$@"); }
printed > "$document"
{
  echo "// Generated from the OpenAPI document by \`npm run schema\`; digest $(printed --digest)"
  node_modules/.bin/openapi-typescript "$document" --alphabetize --default-non-nullable false --empty-objects-unknown
} > src/api/schema.ts.new
mv src/api/schema.ts.new src/api/schema.ts
