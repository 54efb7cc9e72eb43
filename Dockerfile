# The C compiler of the build stage is for tree-sitter, the parser of the scanner.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=1 go build -trimpath -ldflags="-s -w" -o /out/marketplace ./cmd/marketplace

# The same distribution as the build stage, since the program is linked to its C
# library. curl is for health checks.
FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates curl tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin marketplace
COPY --from=build /out/marketplace /usr/local/bin/marketplace
USER 10001
EXPOSE 8080
ENTRYPOINT ["marketplace"]
CMD ["serve"]
