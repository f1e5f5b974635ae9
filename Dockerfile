# syntax=docker/dockerfile:1
# readroom as an HTTP agent: no compiler, no root, nothing to write to but /state and what is mounted at /work.
#
#   docker build --build-arg VERSION=0.1.0 -t readroom .
#   docker run --rm -v readroom-state:/state readroom token create me
#   docker run --rm --read-only --tmpfs /tmp -p 127.0.0.1:7323:7323 -v "$PWD:/work" -v readroom-state:/state readroom
FROM python:3.13-slim-bookworm AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY docs/man ./docs/man
RUN python -m venv /opt/readroom \
    && /opt/readroom/bin/pip install --no-cache-dir --disable-pip-version-check ".[documents,grammars,postgres,serve]"

FROM python:3.13-slim-bookworm
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="readroom" \
      org.opencontainers.image.description="Tools with which a language model finds, reads and safely changes files" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      io.modelcontextprotocol.server.name="io.github.readroom/readroom"
# A number, so that an orchestrator that asks for no root can see that it is none.
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin readroom \
    && install -d -o readroom -g readroom /work /state
COPY --from=build /opt/readroom /opt/readroom
ENV PATH=/opt/readroom/bin:$PATH XDG_STATE_HOME=/state XDG_CACHE_HOME=/state/cache PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /work
VOLUME /state
EXPOSE 7323
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s CMD ["python", "-c", \
    "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7323/healthz', timeout=2)"]
ENTRYPOINT ["readroom"]
# Other machines need a token that was made by name; without one the server says so and ends.
CMD ["serve", "--host", "0.0.0.0", "/work"]
