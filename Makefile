# make help lists what there is.

BIN := $(CURDIR)/.dev/bin
# Which packages and which tests: make test PKG=./store/... RUN=TestFund
PKG ?= ./...
RUN ?=
# Arguments of marketplace dev and demo: make dev ARGS="--port-base 7700 --reset"
ARGS ?=

# Keeps the stack that the tests share up while the command runs.
WITH_STACK := go run ./internal/devstack/teststack run

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: compiler ## Build bin/marketplace
	go build -o bin/marketplace ./cmd/marketplace

.PHONY: dev
dev: build ## Run the marketplace and all it needs on this machine (ARGS="--port-base N --reset")
	exec bin/marketplace dev $(ARGS)

.PHONY: demo
demo: build ## Walk through the whole journey, step by step
	exec bin/marketplace demo $(ARGS)

.PHONY: test
test: compiler ## Run all tests (PKG=./store/... RUN=TestName)
	$(WITH_STACK) go test -race -timeout 20m $(if $(RUN),-run '$(RUN)') $(PKG)

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/workflowcheck ## Check style, common mistakes and that workflows are deterministic
	$(BIN)/golangci-lint run
	$(BIN)/workflowcheck ./workflows/...

.PHONY: vuln
vuln: $(BIN)/govulncheck ## Look for known vulnerabilities in what is used
	$(BIN)/govulncheck ./...

.PHONY: generate
generate: $(BIN)/sqlc ## Write the generated code anew
	cd store && $(BIN)/sqlc generate
	go generate ./api/...

.PHONY: verify-generated
verify-generated: ## Fail if the generated code is not what `make generate` writes
	@before=$$(mktemp -d) && trap 'rm -rf "$$before"' EXIT && \
	cp -R store/db "$$before/db" && cp -R api "$$before/api" && \
	$(MAKE) --no-print-directory generate && \
	if diff -r "$$before/db" store/db && diff -r "$$before/api" api; then \
		echo "generated code is up to date"; \
	else \
		echo "generated code was out of date: commit what make generate wrote" >&2; exit 1; \
	fi

.PHONY: bench
bench: compiler ## Run the benchmarks (PKG=./bench/... RUN=BenchmarkName)
	$(WITH_STACK) go test -run '^$$' -bench '$(or $(RUN),.)' -benchmem -timeout 60m $(PKG)

.PHONY: bench-scanner
bench-scanner: compiler ## Measure the scanner: precision and recall on the labelled corpus, speed and memory
	go test ./internal/scanner -run '^TestCorpusMeasure$$' -count=1 -v -args -corpus
	go test ./internal/scanner -run '^(TestLargeBundle|TestMemory)$$' -count=1 -v

.PHONY: tools
tools: $(addprefix $(BIN)/,temporal versitygw sqlc golangci-lint workflowcheck govulncheck) ## Build every tool ahead of its first use

# The versions of the tools are those of tools/<name>/go.mod. The folder's module
# graph is its own, apart from the product's.
$(BIN)/%: tools/%/go.mod tools/%/go.sum
	@mkdir -p $(BIN)
	@echo "building $* (first time only, may take minutes)"
	@cd tools/$* && GOWORK=off go build -ldflags="-s -w" -o $@.new tool
	@mv $@.new $@

# The same settings as in internal/devstack, which builds these two on demand.
$(BIN)/temporal $(BIN)/versitygw: export CGO_ENABLED = 0

.PHONY: compiler
compiler:
	@command -v "$$(go env CC | cut -d' ' -f1)" >/dev/null || { \
		echo "a C compiler is needed (for tree-sitter and the race detector):" >&2; \
		echo "  Debian, Ubuntu: sudo apt-get install gcc libc6-dev   Fedora: sudo dnf install gcc   macOS: xcode-select --install" >&2; \
		exit 1; }
